"""`vivant serve`."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from vivant.cli import options as o
from vivant.cli.help import CommandApp
from vivant.cli.output import print_message

app = CommandApp()


@app.command()
def serve(
    model: Annotated[
        str,
        Argument(metavar="MODEL", help="A folder of a trained or exported model, or any --model of `run`."),
    ] = "vivant/tiny",
    port: o.Port = 8000,
    host: Annotated[
        str, Option("--host", help="Another address than this machine's own needs a key, and gets one.")
    ] = "127.0.0.1",
    api_key: Annotated[
        str, Option("--api-key", envvar="VIVANT_SERVE_KEY", help="Ask for this key. [default: none]")
    ] = "",
    frames: Annotated[int, Option("--frames", help="Frames shown of a video_url.")] = 16,
    model_option: o.ModelOption = None,
) -> None:
    """Offer a model to other tools as an OpenAI-compatible server: /v1/models and /v1/chat/completions.

    Pictures and videos come as data URLs; consecutive pictures are a video's frames to MIMIC-Chat.

    Example:

        vivant serve models/mine/best --port 8000

        vivant run mime --data mini --model openai/mimic-chat/mine/best --base-url http://127.0.0.1:8000/v1
    """
    from vivant.cli.parsing import parse_model_options
    from vivant.core.types import FramePolicy
    from vivant.models.base import ModelOptions
    from vivant.serve.server import serve as run

    def print_address(address: str, name: str, key: str) -> None:
        shown_key = f"    key: {key}" if key and key != api_key else ""
        print_message(f"{name} answers at {address}{shown_key}    (Ctrl-C ends it)")

    run(
        model,
        options=ModelOptions(values=parse_model_options(model_option, False)),
        frames=FramePolicy(count=frames),
        host=host,
        port=port,
        key=api_key,
        ready=print_address,
    )
