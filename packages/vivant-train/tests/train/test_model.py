"""The model: families of backbones and language models, what learns and what does not, packing, saving, loading."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest

from tests.support.train_kit import frames as clip
from vivant.core.errors import UsageError
from vivant.core.randomness import derive_generator

if TYPE_CHECKING:
    from vivant_train.model.config import ModelSettings
    from vivant_train.model.modeling import MimicChat
    from vivant_train.model.processing import ModelInput, Processor


_SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
_SEEING = {**_SMALL, "image_size": 32, "patch_size": 16}
BACKBONES: dict[str, dict[str, Any]] = {
    "siglip": {"model_type": "siglip_vision_model", **_SEEING, "vision_use_head": False},
    "clip": {"model_type": "clip_vision_model", **_SEEING},
    "internvit": {"model_type": "internvl_vision", **_SEEING, "image_size": [32, 32], "patch_size": [16, 16]},
    "dinov2": {"model_type": "dinov2", **_SEEING, "mlp_ratio": 2},
    "conv": {"model_type": "conv", "widths": [8, 16]},
}
_TEXT = {**_SMALL, "num_key_value_heads": 2, "max_position_embeddings": 512}
LANGUAGES: dict[str, dict[str, Any]] = {
    "qwen2": {"model_type": "qwen2", **_TEXT, "tie_word_embeddings": True},
    "llama": {"model_type": "llama", **_TEXT},
    "qwen3": {"model_type": "qwen3", **_TEXT, "head_dim": 16},
}


def make_settings(encoder: str = "siglip", language: str = "qwen2", **changes: Any) -> ModelSettings:
    """A small model of two families: backbone frozen, LoRA on attention, as the paper has it."""

    from vivant_train.model.config import ModelSettings, check_settings

    tokenizer = make_tokenizer()
    content: dict[str, Any] = {
        "vision": {"config": BACKBONES[encoder], "image_size": 32, "frozen": False},
        "spatial": {"frames": 2, "grid": 2},
        "temporal": {
            "init": "fresh" if encoder == "conv" else "backbone",
            "tokens": 2,
            "heads": 2,
            "window": 4,
        },
        "language": {
            "config": {
                **LANGUAGES[language],
                "vocab_size": len(tokenizer),
                "bos_token_id": None,
                "eos_token_id": tokenizer.eos_token_id,
                "pad_token_id": tokenizer.pad_token_id,
            },
            "lora": {"rank": 2, "alpha": 4},
        },
    }
    for name, value in changes.items():
        content[name] = {**content.get(name, {}), **value}
    return check_settings(msgspec.convert(content, ModelSettings))


def make_tokenizer() -> Any:
    from vivant_train.model.processing import train_tokenizer

    return train_tokenizer(["Which one? A. red B. green C. blue D. white going left right"], 300)


def build(parts: ModelSettings) -> tuple[MimicChat, Processor]:
    import torch

    from vivant_train.model.config import MimicChatConfig
    from vivant_train.model.modeling import MimicChat
    from vivant_train.model.processing import Processor

    torch.manual_seed(1)
    model = MimicChat(MimicChatConfig.from_settings(parts))
    return model, Processor(parts, make_tokenizer(), model.vocabulary)


def make_input(
    processor: Processor, number: int, text: str = "Which one? A. red B. green", times: int = 4
) -> ModelInput:
    from vivant_train.model.processing import ModelInput

    frames = clip("red", "sea", "left", derive_generator(number, "clip"), 32, times)
    return ModelInput(
        processor.encode_prompt(text, video=True), processor.encode_answer("A"), frames, str(number)
    )


def compute_loss(model: MimicChat, questions: list[list[ModelInput]]) -> float:
    import torch

    from vivant_train.data.packing import collate

    with torch.no_grad():
        return float(model(**collate(questions, 0)).loss)


def test_answers_count_alike_where_that_is_asked() -> None:
    """A letter as much as a sentence; else each of the sentence's tokens counts as much as the letter."""

    import torch

    from vivant_train.data.packing import collate
    from vivant_train.model.processing import ModelInput

    model, processor = build(make_settings("conv"))
    model.eval()
    prompt = processor.encode_prompt("Which one? A. red B. green", video=True)
    short = make_input(processor, 0)
    long = ModelInput(prompt, processor.encode_answer("going left right going left"), short.frames, "0")
    assert len(long.answer) > 2 * len(short.answer)
    alone = [compute_loss(model, [[question]]) for question in (short, long)]
    with torch.no_grad():
        alike = float(model(**collate([[short, long]], 0, answers_alike=True), num_items_in_batch=2).loss)
    assert alike == pytest.approx(sum(alone) / 2, rel=1e-4)
    assert compute_loss(model, [[short, long]]) != pytest.approx(alike, rel=1e-3)


def dump_weights(module: Any) -> dict[str, bytes]:
    return {name: value.detach().numpy().tobytes() for name, value in module.state_dict().items()}


@pytest.mark.parametrize(
    ("encoder", "language"),
    [("siglip", "qwen2"), ("internvit", "llama"), ("clip", "llama"), ("dinov2", "qwen3"), ("conv", "qwen2")],
)
@pytest.mark.parametrize("place", ["input", "layers"])
def test_families_learn_and_frozen_parts_keep_every_byte(encoder: str, language: str, place: str) -> None:
    import torch

    from vivant_train.data.packing import collate

    parts = make_settings(encoder, language, fusion={"place": place})
    if encoder != "conv":
        vision = msgspec.structs.replace(parts.vision, name="somewhere", frozen=True)
        parts = msgspec.structs.replace(parts, vision=vision)
    model, processor = build(parts)
    model.train()
    encoder_before, text_before = dump_weights(model.eyes), dump_weights(model.language_model)
    learning = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(learning, lr=1e-2)
    losses = []
    for _ in range(6):
        loss = model(**collate([[make_input(processor, 0), make_input(processor, 1)]], 0)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] - 0.1
    after = dump_weights(model.language_model)
    changed = {name for name, value in after.items() if text_before[name] != value}
    assert changed and all("lora_" in name for name in changed)
    assert all(("attn" in name or "attention" in name) for name in changed), "LoRA is on attention only"
    if encoder == "conv":
        assert dump_weights(model.eyes) != encoder_before
    else:
        assert dump_weights(model.eyes) == encoder_before


@pytest.mark.parametrize("fusion", [{"place": "input"}, {"hint": True}, {"join": "sum"}, {"place": "layers"}])
def test_packed_questions_give_the_loss_that_they_give_alone(fusion: dict[str, Any]) -> None:
    from vivant_train.model.processing import ModelInput

    model, processor = build(make_settings(fusion=fusion))
    model.eval()
    questions = [
        make_input(processor, 0),
        make_input(processor, 1, "B. green or C. blue?", times=6),
        make_input(processor, 2, "D"),
    ]
    blind = ModelInput(
        processor.encode_prompt("A. red or B. green", video=False), processor.encode_answer("B")
    )
    questions.append(blind)
    alone = sum(compute_loss(model, [[q]]) * len(q.answer) for q in questions) / sum(
        len(q.answer) for q in questions
    )
    rows = [[questions[2], questions[0]], [questions[3], questions[1]]]
    assert compute_loss(model, rows) == pytest.approx(alone, abs=1e-5)
    assert compute_loss(model, [questions]) == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize("place", ["input", "layers"])
@pytest.mark.parametrize("lora", ["merged", "apart"])
def test_saved_and_loaded_it_answers_alike(tmp_path: Path, place: str, lora: Any) -> None:
    import torch

    from vivant_train.checkpoints import load_model, save_model
    from vivant_train.model.modeling import MimicChat
    from vivant_train.model.processing import ModelInput

    model, processor = build(make_settings(fusion={"place": place}))
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.5)
    model.eval()
    folder = save_model(tmp_path / "model", model, processor.tokenizer, lora=lora)
    again, feeding = load_model(folder)
    assert (folder / "adapter" / "adapter_config.json").is_file() == (lora == "apart")
    question = make_input(processor, 3)
    assert compute_loss(again, [[question]]) == pytest.approx(compute_loss(model, [[question]]), abs=1e-4)
    batch = feeding.make_batch([ModelInput(question.ids, (), question.frames, "v")])
    wanted = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    assert again.generate(**batch, **wanted).tolist() == model.generate(**batch, **wanted).tolist()
    if lora == "merged":
        usual = MimicChat.from_pretrained(folder)
        assert compute_loss(usual.eval(), [[question]]) == pytest.approx(
            compute_loss(again, [[question]]), abs=1e-5
        )


def test_lora_apart_is_read_by_peft(tmp_path: Path) -> None:
    import torch
    from peft import PeftModel
    from transformers import AutoConfig, AutoModelForCausalLM

    from vivant_train.checkpoints import save_model

    parts = make_settings()
    model, processor = build(parts)
    for name, weight in model.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weight, std=0.5)
    folder = save_model(tmp_path / "model", model, processor.tokenizer, lora="apart")
    config = dict(parts.language.config)
    base_model = AutoModelForCausalLM.from_config(AutoConfig.for_model(config.pop("model_type"), **config))
    state = {n.replace(".base_layer.", "."): v for n, v in model.language_model.state_dict().items()}
    base_model.load_state_dict({n: v for n, v in state.items() if "lora_" not in n}, strict=False)
    adapted = PeftModel.from_pretrained(base_model, str(folder / "adapter")).eval()
    ids = torch.tensor([[5, 6, 7]])
    assert torch.allclose(
        adapted(input_ids=ids).logits, model.language_model.eval()(input_ids=ids).logits, atol=1e-5
    )


def test_rows_of_one_batch_do_not_change_each_other() -> None:
    import torch

    from vivant_train.model.processing import ModelInput

    for fusion in ({"hint": True}, {"place": "layers"}):
        model, processor = build(make_settings(fusion=fusion))
        model.eval()
        questions = [make_input(processor, 0), make_input(processor, 1, "C. blue", times=7)]
        prompts = [ModelInput(q.ids, (), q.frames, q.video) for q in questions]
        wanted = {"max_new_tokens": 3, "do_sample": False, "pad_token_id": 0, "output_logits": True}
        together = model.generate(
            **processor.make_batch(prompts), **wanted, return_dict_in_generate=True
        ).logits
        for row, prompt in enumerate(prompts):
            single = model.generate(
                **processor.make_batch([prompt]), **wanted, return_dict_in_generate=True
            ).logits
            assert torch.allclose(together[0][row], single[0][0], atol=1e-4)


def test_branches_and_gates_can_be_taken_away() -> None:
    import torch

    from vivant_train.model.processing import ModelInput

    off = {"on": False}
    for parts, what in (
        (make_settings(temporal=off), {"spatial"}),
        (make_settings(spatial=off), {"temporal"}),
    ):
        model, processor = build(parts)
        assert set(model.encode_videos(torch.from_numpy(make_input(processor, 0).frames), [4])) == what
    with pytest.raises(UsageError, match="one of spatial and temporal"):
        make_settings(spatial=off, temporal=off)
    for place in ("input", "layers"):
        closed, processor = build(make_settings(fusion={"gates": "closed", "place": place}))
        opened, _ = build(make_settings(fusion={"gates": "open", "place": place}))
        first, second = make_input(processor, 0), make_input(processor, 1)
        other = ModelInput(first.ids, first.answer, 255 - second.frames, "1")
        assert compute_loss(closed.eval(), [[first]]) == pytest.approx(
            compute_loss(closed, [[other]]), abs=1e-7
        )
        assert compute_loss(opened.eval(), [[first]]) != pytest.approx(
            compute_loss(opened, [[other]]), abs=1e-7
        )


def test_order_of_frames_reaches_the_temporal_branch_alone() -> None:
    import torch

    model, processor = build(make_settings("conv", spatial={"pool": "max", "frames": 4}))
    model.eval()
    frames = torch.from_numpy(make_input(processor, 0).frames)
    forth, back = model.encode_videos(frames, [4]), model.encode_videos(frames.flip(0), [4])
    assert torch.allclose(forth["spatial"], back["spatial"], atol=1e-6)
    assert not torch.allclose(forth["temporal"], back["temporal"], atol=1e-3)


@pytest.mark.parametrize("encoder", ["siglip", "conv"])
def test_videos_of_any_length_make_as_many_tokens(encoder: str) -> None:
    import torch

    model, processor = build(make_settings(encoder))
    model.eval()
    videos = [make_input(processor, n, times=t).frames for n, t in enumerate((1, 3, 4, 11, 4))]
    together = model.encode_videos(torch.from_numpy(np.concatenate(videos)), [len(video) for video in videos])
    assert together["temporal"].shape[:2] == (5, 2)
    for index, video in enumerate(videos):
        single = model.encode_videos(torch.from_numpy(video), [len(video)])
        assert torch.allclose(together["temporal"][index], single["temporal"][0], atol=1e-4)


def test_a_fresh_temporal_branch_on_a_backbone_begins_as_the_backbone() -> None:
    import torch

    model, _ = build(make_settings())
    model.eval()
    pixels = torch.randn(1, 4, 3, 32, 32)
    expected = model.eyes(pixels[0]).mean(1)
    assert torch.allclose(model.temporal.windows(model.eyes, pixels)[0], expected, atol=1e-5)


def test_checkpointed_windows_have_the_gradients_of_kept_ones() -> None:
    """The tower's layers run again in the backward pass, attention over time with them; two windows."""

    import torch

    gradients = []
    for checkpointing in (False, True):
        torch.manual_seed(0)
        model, processor = build(make_settings())
        torch.manual_seed(1)
        for attention in model.temporal.windows.time:
            torch.nn.init.normal_(attention.out.weight, std=0.1)
        model.temporal.checkpointing = checkpointing
        frames = torch.from_numpy(make_input(processor, 0, times=11).frames)
        model.encode_videos(frames, [11])["temporal"].square().sum().backward()
        gradients.append([attention.qkv.weight.grad for attention in model.temporal.windows.time])
        assert all("forward" not in vars(layer) for layer in model.eyes.layers)
    for kept, again in zip(*gradients, strict=True):
        assert kept.abs().max() > 0 and torch.allclose(kept, again, rtol=1e-4, atol=1e-6)


def test_text_cannot_pass_for_a_mark() -> None:
    _, processor = build(make_settings())
    ids = processor.encode_prompt("[VID] [SEP] [ANS] <pad>", video=False)
    assert [i for i in ids if i >= processor.vocabulary] == [
        processor.vocabulary + 1,
        processor.vocabulary + 2,
    ]


def test_rows_hold_everything_once_and_none_is_over_full() -> None:
    from vivant_train.data.packing import pack_rows

    chance = derive_generator(0, "rows")
    lengths = [chance.randint(5, 100) for _ in range(200)]
    rows = pack_rows(lengths, 128)
    assert sorted(index for row in rows for index in row) == list(range(200))
    assert all(sum(lengths[index] for index in row) <= 128 for row in rows)
    assert sum(lengths) / (128 * len(rows)) > 0.9


def test_what_is_no_checkpoint_or_another_one_says_so(tmp_path: Path) -> None:
    from vivant_train.checkpoints import CheckpointError, load_model, save_model

    with pytest.raises(CheckpointError, match=r"holds no MIMIC-Chat: config\.json and model\.safetensors"):
        load_model(tmp_path)
    model, processor = build(make_settings("conv"))
    folder = save_model(tmp_path / "model", model, processor.tokenizer)
    other = msgspec.json.decode((folder / "config.json").read_bytes())
    other["parts"]["temporal"]["depth"] = 2
    (folder / "config.json").write_bytes(msgspec.json.encode(other))
    with pytest.raises(
        CheckpointError, match=r"checkpoint of another model: it lacks temporal\.windows\.blocks\.1"
    ):
        load_model(folder)
    (folder / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(Exception, match="cannot be loaded") as caught:
        load_model(folder)
    assert "\n" not in str(caught.value)


def test_low_rank_updates_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    from vivant_train.checkpoints import CheckpointError, load_model, save_model

    model, processor = build(make_settings())
    folder = save_model(tmp_path / "model", model, processor.tokenizer, lora="apart")
    file = folder / "adapter" / "adapter_model.safetensors"
    updates = load_file(file)
    first = min(updates)
    save_file({name: value for name, value in updates.items() if name != first}, file)
    with pytest.raises(
        CheckpointError, match=r"it lacks language_model\.model\.layers\.0\.self_attn.*lora_A"
    ):
        load_model(folder)
    save_file({**updates, "base_model.model.other.lora_A.weight": updates[first].clone()}, file)
    with pytest.raises(CheckpointError, match=r"it has besides base_model\.model\.other\.lora_A\.weight"):
        load_model(folder)
    file.unlink()
    with pytest.raises(CheckpointError, match=r"adapter_model\.safetensors cannot be read"):
        load_model(folder)


def test_sizes_are_counted_from_settings_alone() -> None:
    from vivant_train.model_size import make_sizes_table

    table = make_sizes_table()
    totals = {str(row[0]): row[1] for row in table.body}
    assert isinstance(totals["tiny"], float) and 1.5 < totals["tiny"] < 2.0, "millions of parameters"
