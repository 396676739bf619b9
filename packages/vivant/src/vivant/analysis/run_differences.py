"""What two runs differ in besides the model: named, so that nobody puts it down to the model."""

from __future__ import annotations

from vivant.runs.run import Run
from vivant.runs.settings import list_differences


def describe_differences(first: str, second: str, first_run: Run, second_run: Run) -> list[str]:
    """A sentence on how two runs differ, where they do, or on how they do not differ at all."""
    changes: list[str] = []
    tasks: list[str] = []
    for entry in list_differences(first_run.manifest.settings, second_run.manifest.settings):
        name = entry.partition(":")[0]
        if name.startswith("data."):
            tasks.append(name.removeprefix("data."))
        elif name.partition(".")[0] not in ("model", "tasks"):
            changes.append(entry)
    shared = [
        task for task in tasks if task in first_run.manifest.tasks and task in second_run.manifest.tasks
    ]
    if shared:
        changes.append(f"the samples that were read for {', '.join(shared)}")
    imported = [
        name for name, run in ((first, first_run), (second, second_run)) if run.manifest.origin == "import"
    ]
    if imported:
        changes.append(f"how models were asked is not recorded in imports ({' and '.join(imported)})")
    changes += _list_scoring_differences(first_run, second_run)
    if not changes:
        same = first_run.manifest.settings.model == second_run.manifest.settings.model
        return [f"{first} and {second} have the same settings and the same model."] if same else []
    return [f"{first} and {second} differ in more than the model: {'; '.join(changes)}."]


def _list_scoring_differences(first: Run, second: Run) -> list[str]:
    """Scoring settings and judges that are not the same, as the stored scores name them."""
    changes: list[str] = []
    for protocol in ("paper", "strict"):
        headers = [run.dir.score_header(protocol) for run in (first, second)]
        if headers[0] is None or headers[1] is None:
            continue
        tasks = [task for task in headers[0].values if task in headers[1].values]
        for task in tasks:
            changed = list_differences(headers[0].values[task], headers[1].values[task])
            changes += [f"{task} scored ({protocol}) with {entry}" for entry in changed]
        if set(headers[0].judges) != set(headers[1].judges):
            changes.append(f"the judges ({protocol})")
    return changes
