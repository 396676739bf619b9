"""Recipes: one for each published row, options that a run knows, and official wording read from a clone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.original_repos import COMMIT, FILES, make_clone
from vivant.benchmarks import registry
from vivant.benchmarks.official_wording import read_commit, read_wording, write_wording
from vivant.benchmarks.recipes import FIELDS, find_recipe, list_row_recipes, load_recipes
from vivant.benchmarks.wording import check_judge_prompts, check_prompts
from vivant.cli.main import main
from vivant.core.errors import DataError, UsageError
from vivant.core.option_specs import check_values
from vivant.engine.option_parsing import load_prompts, make_options
from vivant.engine.options import RunOptions
from vivant.runs.recipe_differences import list_recipe_differences

BENCHMARKS = ("mime", "mmrv", "milebench", "mmie")


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_published_row_has_one_recipe(name: str) -> None:
    rows = {(figure.model, figure.style) for figure in registry.get(name).published.rows()}
    people = {row for row in rows if row[0].lower() == "human"}
    assert set(list_row_recipes(name)) == rows - people
    assert len(list_row_recipes(name)) == len(load_recipes(name).recipes)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_recipes_set_options_that_a_run_knows_and_name_keys_that_are_read(name: str) -> None:
    benchmark = registry.get(name)
    content = load_recipes(name)
    names = {
        *(benchmark.prompt_texts or ()),
        *(n for r in benchmark.judged.rubrics("paper") for n in r.text_names),
    }
    for recipe in content.recipes.values():
        check_values(RunOptions, recipe.sets)
        make_options(selectors=name, recipe=recipe.name, model="random")
        registry.parse_task_options([name], recipe.sets.get("task_options", {}))
        assert set(recipe.wording) <= names and set(recipe.wording.values()) <= set(content.words), (
            recipe.name
        )
        assert set(recipe.scoring) <= set(benchmark.settings), recipe.name
        assert set(recipe.fields) <= set(FIELDS)
        if recipe.status == "complete":
            for field in ("model", "style", "media", "order", "wording", "reply_limit", "scoring"):
                stated = recipe.fields.get(field)
                assert stated is not None and stated.source, (recipe.name, field)
    assert all(len(place.sha256) == 16 for place in content.words.values())


@pytest.mark.parametrize("name", BENCHMARKS)
def test_wording_is_read_from_a_clone_and_taken_by_a_run(name: str, tmp_path: Path) -> None:
    clone = make_clone(tmp_path / "clone", name)
    wording = read_wording(name, clone)
    assert wording.commit == COMMIT
    assert set(wording.texts) == set(load_recipes(name).words)
    assert set(wording.changed) == set(wording.texts)  # our texts are not the original's
    file = tmp_path / "wording.yaml"
    write_wording(name, wording, file)
    texts = load_prompts(file)
    assert texts.pop("source").endswith(COMMIT) and texts == wording.texts
    benchmark = registry.get(name)
    for recipe in load_recipes(name).recipes.values():
        options = make_options(selectors=name, recipe=recipe.name, model="random", prompts=file)
        check_prompts([benchmark], options.prompts)
        assert set(recipe.wording) <= set(options.prompts)
    check_judge_prompts([benchmark], {k: v for k, v in texts.items() if "@" not in k})


def test_texts_arrive_in_the_form_that_prompts_take(tmp_path: Path) -> None:
    mime = read_wording("mime", make_clone(tmp_path / "mime", "mime")).texts
    four = "A. {option_a}\nB. {option_b}\nC. {option_c}\nD. {option_d}"
    assert mime["mcq.zero-shot"] == f"Pick one.\n{four}\nLetter only."
    assert mime["mcq.cot"] == f"Pick one.\n{four}\n\nThink, as in 'It moves.\\nB'."
    assert mime["ff.zero-shot"] == "Say what it is. "
    assert mime["few-shot.system@openai"] == "You know mimes."
    assert mime["mcq.few-shot.demo@gemini"] == f"Which?\n{four}\nIt is {{answer}}\n"
    assert mime["ff.few-shot@gemini"] == "And what is this?"
    mmie = read_wording("mmie", make_clone(tmp_path / "mmie", "mmie")).texts
    assert mmie["judge.mmie-sa.message"].startswith(
        "Judge the story.\nBegin with '### Feedback\n'.### Question\n{question}"
    )
    assert mmie["judge.mmie-msr.message"].endswith("### Correct\n{reference}\n### Feedback\n")
    mmrv = read_wording("mmrv", make_clone(tmp_path / "mmrv", "mmrv")).texts
    assert mmrv["mcq.cot@server"] == "\n[[server cot]] {as is}\n{question}\n{options_list}\n "
    milebench = read_wording("milebench", make_clone(tmp_path / "milebench", "milebench")).texts
    assert milebench == {"choices": "Options: ", "answer": "Say: "}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "def predict_mcq",
            "def predict",
            r"vlms\.py, VLM\.predict_mcq: variable `prompt`.*there is no predict_mcq",
        ),
        (
            'eval_type == "zero-shot"',
            'kind == "zero"',
            r"vlms\.py, VLM\.predict_mcq.*no branch `if eval_type",
        ),
        (
            "prompt = f",
            "text = f",
            r"vlms\.py, VLM\.predict_mcq: variable `prompt`.*'mcq\.zero-shot'.*no such text",
        ),
        ("{options[0]}", "{options[9]}", r"vlms\.py.*fills in 'options\[9\]', which is not known"),
        ("class VLM", "class VLM(", r"vlms\.py cannot be read as Python"),
    ],
)
def test_wording_that_is_elsewhere_names_file_and_symbol(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    clone = make_clone(tmp_path, "mime")
    file = clone / "src/MimeEval/models/vlms.py"
    file.write_text(FILES["mime"]["src/MimeEval/models/vlms.py"].replace(old, new), encoding="utf-8")
    with pytest.raises(DataError, match=message):
        read_wording("mime", clone)


def test_a_folder_that_is_no_clone_is_an_error_or_a_missing_commit(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"prompts\.py does not exist; is .* a clone"):
        read_wording("mmie", make_clone(tmp_path / "mime", "mime"))
    with pytest.raises(DataError, match=r"is no folder; clone https://github\.com/wise-east/mime"):
        read_wording("mime", tmp_path / "nowhere")
    assert read_commit(tmp_path) == ""


def test_commits_of_packed_refs_detached_heads_and_worktrees(tmp_path: Path) -> None:
    clone = make_clone(tmp_path / "a", "mmie")
    (clone / ".git/refs/heads/main").unlink()
    (clone / ".git/packed-refs").write_text(f"# pack-refs\n{COMMIT} refs/heads/main\n")
    assert read_commit(clone) == COMMIT
    tree = tmp_path / "tree"
    tree.mkdir()
    private = clone / ".git/worktrees/tree"
    private.mkdir(parents=True)
    (private / "HEAD").write_text("ref: refs/heads/main\n")
    (private / "commondir").write_text("../..\n")
    (tree / ".git").write_text(f"gitdir: {private}\n")
    assert read_commit(tree) == COMMIT
    (clone / ".git/HEAD").write_text("f" * 40 + "\n")
    assert read_commit(clone) == "f" * 40


def test_a_recipe_sets_defaults_and_the_user_goes_over_them() -> None:
    plain = make_options(selectors="mime", recipe="gpt-4o-mini")
    assert (plain.recipe, plain.model, plain.max_tokens) == ("paper/gpt-4o-mini", "openai/gpt-4o-mini", 200)
    assert plain.task_options == {"order": "text-first"} and plain.model_options == {"detail": "low"}
    assert (plain.every, plain.every_start, plain.temperature) == (30, "kth", "server")
    own = make_options(
        selectors="mime",
        recipe="paper/gpt-4o-mini",
        model="openai/other",
        frames=4,
        max_tokens=9,
        task_options={"demonstrations": "turns"},
    )
    assert (own.model, own.frames, own.every, own.max_tokens) == ("openai/other", 4, None, 9)
    assert own.task_options == {"order": "text-first", "demonstrations": "turns"}
    assert own.longest_side == 512
    elsewhere = make_options(selectors="mime", recipe="paper/gpt-4o-mini", model="random")
    assert elsewhere.model_options == {}  # those of OpenAI's backend


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"selectors": "mime", "recipe": "paper/gpt-4o-mni"}, "did you mean 'paper/gpt-4o-mini'"),
        ({"selectors": "mmrv", "recipe": "paper/phi-3.5-vision"}, "is one of mime, not of mmrv"),
        ({"selectors": ["mime", "mmrv"], "recipe": "paper/gpt-4o-mini"}, "belongs to one benchmark"),
        ({"selectors": "milebench", "recipe": "paper/gpt-4v"}, "names no model .*add --model"),
        ({"selectors": "mimic", "recipe": "paper/x", "model": "random"}, "mimic has no recipes"),
        (
            {
                "selectors": "mmrv",
                "model": "random",
                "style": "cot",
                "prompts": {"mcq.cot@a": "x", "mcq.cot@b": "y"},
            },
            "several texts",
        ),
    ],
)
def test_a_recipe_that_does_not_fit_is_one_line(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_options(**values)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_misspelt_prompt_name_is_an_error_everywhere(name: str) -> None:
    benchmark = registry.get(name)
    some = min(benchmark.prompt_texts or ())
    with pytest.raises(UsageError, match=f"Unknown prompt of {name} '{some}x'"):
        check_prompts([benchmark], {f"{some}x": "text"})
    with pytest.raises(UsageError, match=r"Unknown text of a judge 'judge\.x\.role'"):
        check_judge_prompts([benchmark], {"judge.x.role": "text"})


@pytest.mark.parametrize(
    ("recipe", "benchmark"),
    [("paper/o4-mini", "mmrv"), ("mime/gpt-4o-mini", "mime"), ("mmrv/paper/gpt-4o-mini", "mmrv")],
)
def test_a_recipe_names_its_benchmark_where_only_one_can_be_meant(recipe: str, benchmark: str) -> None:
    options = make_options(recipe=recipe, model="random")
    assert options.selectors == (benchmark,)
    assert options.recipe == f"paper/{recipe.rpartition('/')[2]}"
    assert options == make_options(selectors=benchmark, recipe=recipe, model="random")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--recipe", "paper/gpt-4o-mini"), "mime and mmrv each have a recipe 'paper/gpt-4o-mini'"),
        (("--recipe", "paper/o4-mino"), "did you mean 'paper/o4-mini'"),
        ((), "Name a benchmark, e.g. mime, or a file of your own questions, or a recipe"),
    ],
)
def test_a_command_that_names_no_benchmark_is_one_line(
    arguments: tuple[str, ...],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["vivant", "plan", "--model", "random", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code != 0
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_differences_are_named_field_by_field() -> None:
    from vivant.engine.run_planning import plan_run

    recipe = find_recipe("mime", "paper/gpt-4o-mini")
    url = "http://127.0.0.1:9/v1"
    plan = plan_run(make_options(selectors="mime/mcq", model="openai/x", base_url=url, data="mini")).plan
    fields = {change.field for change in list_recipe_differences(recipe, plan.settings, {"mime/mcq": 170})}
    assert fields == {"frames", "size", "detail", "order", "wording", "reply_limit", "temperature", "items"}
    asked = make_options(
        selectors="mime/mcq", recipe=recipe.name, model="openai/x", base_url=url, data="mini"
    )
    planned = plan_run(asked).plan
    assert [c.field for c in list_recipe_differences(recipe, planned.settings, {"mime/mcq": 860})] == [
        "wording"
    ]
    assert any("wording: Vivant's own" in note for note in planned.notes)
    assert any("860" in note for note in planned.notes)


def test_official_wording_serves_without_a_recipe_where_there_is_nothing_to_choose(tmp_path: Path) -> None:
    texts = read_wording("mime", make_clone(tmp_path, "mime")).texts
    options = make_options(selectors="mime", model="random", prompts=texts, style="cot")
    assert options.prompts["mcq.cot"] == texts["mcq.cot"] and "few-shot.system" not in options.prompts
    with pytest.raises(UsageError, match=r"several texts for 'few-shot.*choose with --recipe"):
        make_options(selectors="mime", model="random", prompts=texts, style="few-shot")
