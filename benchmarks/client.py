"""The clients that `benchmarks.engine` measures, each in a process of its own that imports nothing else."""

from __future__ import annotations

import json
import os
import pickle
import sys
import time
from pathlib import Path
from typing import Any

AT_ONCE = 64


def bare(folder: Path, count: int, url: str) -> None:
    """The peer."""
    import asyncio
    from base64 import b64encode

    import aiohttp

    async def main() -> None:
        numbers = iter(range(count))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def worker() -> None:
                for number in numbers:
                    data = b64encode((folder / f"{number}.jpg").read_bytes()).decode()
                    body = {
                        "model": "m",
                        "temperature": 0.0,
                        "max_tokens": 128,
                        "messages": [
                            {
                                "role": "user",
                                "content": [
                                    {
                                        "type": "image_url",
                                        "image_url": {"url": f"data:image/jpeg;base64,{data}"},
                                    },
                                    {"type": "text", "text": "What is this?\nA. a cat\nB. a dog\nC. a bird"},
                                ],
                            }
                        ],
                    }
                    async with session.post(f"{url}/chat/completions", json=body) as response:
                        json.loads(await response.read())

            await asyncio.gather(*(worker() for _ in range(AT_ONCE)))

    asyncio.run(main())


def vivant_run(questions: Path, url: str, out: Path, **more: Any) -> None:
    """The same through `vivant.evaluate`: fingerprints, response cache, retries, log, progress."""
    from vivant.engine.evaluation import evaluate

    evaluate(
        str(questions),
        "openai/m",
        out=str(out),
        concurrency=AT_ONCE,
        base_url=url,
        **more,
    )


def metered_run(questions: Path, url: str, out: Path) -> None:
    """The same with limits that are kept but never reached."""
    many = 1_000_000_000
    vivant_run(questions, url, out, rpm=many, tpm=many, budget_tokens=many, budget_time=3600.0)


def inspect_run(folder: Path, count: int, url: str, out: Path) -> None:
    """The same with Inspect: a multiple-choice task over the same pictures."""
    import inspect_ai
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText, GenerateConfig, get_model
    from inspect_ai.scorer import choice
    from inspect_ai.solver import multiple_choice

    samples = [
        Sample(
            id=number,
            input=[
                ChatMessageUser(
                    content=[
                        ContentImage(image=str(folder / f"{number}.jpg")),
                        ContentText(text="What is this?"),
                    ]
                )
            ],
            choices=["a cat", "a dog", "a bird", "a fish"],
            target="A",
        )
        for number in range(count)
    ]
    task = inspect_ai.Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice())
    model = get_model(
        "openai/m",
        base_url=url,
        api_key="none",
        responses_api=False,
        config=GenerateConfig(max_connections=AT_ONCE, temperature=0.0, max_tokens=128),
    )
    inspect_ai.eval(
        task, model=model, log_dir=str(out), display="none", max_samples=AT_ONCE, log_images=False
    )


def lmms_run(folder: Path, count: int, url: str, out: Path) -> None:
    """The same requests through lmms-eval's client for OpenAI-compatible servers; its tasks come from a hub."""
    from lmms_eval.api.instance import Instance
    from lmms_eval.models.chat.async_openai import AsyncOpenAIChat

    os.environ["OPENAI_API_BASE"] = url
    documents = {
        "t": {
            "test": [
                [
                    {
                        "role": "user",
                        "content": [
                            {"type": "image", "url": str(folder / f"{number}.jpg")},
                            {"type": "text", "text": "What is this?"},
                        ],
                    }
                ]
                for number in range(count)
            ]
        }
    }
    model = AsyncOpenAIChat(model_version="m", base_url=url, api_key="none", num_cpus=AT_ONCE)
    model.task_dict = documents
    settings = {"max_new_tokens": 128, "temperature": 0}
    requests = [
        Instance(
            request_type="generate_until",
            arguments=("", lambda document: document, settings, number, "t", "test"),
            idx=0,
            metadata={"task": "t", "doc_id": number, "repeats": 1},
        )
        for number in range(count)
    ]
    out.mkdir()
    (out / "replies.json").write_text(json.dumps([str(reply) for reply in model.generate_until(requests)]))


def main(report: int) -> None:
    """Run the client that standard input names; write its CPU and wall seconds, imports apart, to a descriptor."""
    name, arguments = pickle.load(sys.stdin.buffer)
    if name == "bare":
        import asyncio
        import base64

        import aiohttp

        assert aiohttp and asyncio and base64
    elif name == "inspect_run":
        import inspect_ai
        import openai

        assert inspect_ai and openai
    elif name == "lmms_run":
        import lmms_eval.models.chat.async_openai

        assert lmms_eval
    else:
        import vivant.engine.evaluation
        import vivant.media
        import vivant.models.openai  # noqa: F401
    before, wall = os.times(), time.perf_counter()
    globals()[name](*arguments)
    after = os.times()
    used = after.user + after.system - before.user - before.system
    os.write(report, json.dumps((used, time.perf_counter() - wall)).encode())
