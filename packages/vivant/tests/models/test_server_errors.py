"""Refusals in the words of the servers that send them: what each means for the sample and for the run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vivant.models.base import DeniedError, ModelError, TransientError
from vivant.models.server_errors import (
    RequestRefusedError,
    classify_error,
    encode_error,
    find_embedded_error,
    read_error_message,
)


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


def classify(status: int, body: Any) -> Exception:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return classify_error(status, {}, data, "there")


TOO_LONG = {
    "openai": (
        400,
        error(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130012 tokens.",
            type="invalid_request_error",
            code="context_length_exceeded",
        ),
    ),
    "openai, more than a minute": (
        429,
        error(
            "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 38000.",
            type="tokens",
            code="rate_limit_exceeded",
        ),
    ),
    "vllm": (
        400,
        {
            "object": "error",
            "message": "The decoder prompt (length 10127) is longer than the maximum model length of 8192. Make sure "
            "that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.",
            "type": "BadRequestError",
            "param": None,
            "code": 400,
        },
    ),
    "vllm 0.6": (
        400,
        error("The prompt (total length 25938) is too long to fit into the model (context length 4096)"),
    ),
    "vllm 0.9": (
        400,
        error(
            "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens "
            "(112946 in the messages, 10000 in the completion)."
        ),
    ),
    "vllm, new": (
        400,
        error(
            "You passed 4097 input tokens and requested 512 output tokens. However, the model's context length is "
            "only 4096 tokens."
        ),
    ),
    "sglang": (
        400,
        error("The input (9001 tokens) is longer than the model's context length (8192 tokens)."),
    ),
    "llama.cpp": (
        400,
        error(
            "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
            code=400,
            type="exceed_context_size_error",
            n_ctx=4096,
        ),
    ),
    "llama.cpp, as a 500": (500, error("Context size has been exceeded.", code=500, type="server_error")),
    "llama-cpp-python": (500, error("Requested tokens (2285) exceed context window of 2048", code=None)),
    "gemini": (
        400,
        error(
            "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
            code=400,
            status="INVALID_ARGUMENT",
        ),
    ),
    "gemini, in a list": (
        400,
        [error("The input token count exceeds the maximum number of tokens allowed 1048576.")],
    ),
    "anthropic": (
        400,
        {
            "type": "error",
            **error("prompt is too long: 209353 tokens > 199999 maximum", type="invalid_request_error"),
        },
    ),
    "anthropic, with the reply": (
        400,
        error(
            "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length"
        ),
    ),
    "groq": (
        400,
        error("Please reduce the length of the messages or completion.", type="invalid_request_error"),
    ),
    "dashscope": (400, error("Range of input length should be [1, 30720]", code="invalid_parameter_error")),
    "xai": (
        400,
        {
            "code": "400",
            "error": "This model's maximum prompt length is 131072 but the request contains 2e5.",
        },
    ),
    "anthropic, pictures": (
        400,
        error("too many images and documents: 104 + 1 > 100", type="invalid_request_error"),
    ),
    "anthropic, media": (
        400,
        error("Too much media: 0 document pages + 103 images > 100", type="invalid_request_error"),
    ),
    "azure, pictures, by openrouter": (
        400,
        error(
            "Provider returned error",
            code=400,
            metadata={
                "raw": '{"error": {"message": "Exceeded maximum number of images (50) allowed in the request."}}'
            },
        ),
    ),
    "new api, pictures": (500, error("too many images in the message, max allowed is 16")),
    "cohere": (400, {"message": "too many tokens: size limit exceeded by 4000 tokens."}),
    "nginx": (413, b"<html><h1>413 Request Entity Too Large</h1></html>"),
}

REFUSED = {
    "azure": (
        400,
        error(
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
            type=None,
            param="prompt",
            code="content_filter",
            innererror={
                "code": "ResponsibleAIPolicyViolation",
                "content_filter_result": {"violence": {"filtered": True, "severity": "medium"}},
            },
        ),
    ),
    "openai, picture": (
        400,
        error(
            "Your input image may contain content that is not allowed by our safety system.",
            code="moderation_blocked",
        ),
    ),
    "openai, o-series": (
        400,
        error(
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
            code="invalid_prompt",
        ),
    ),
    "openrouter": (
        403,
        error(
            'openai/gpt-4o requires moderation on OpenAI. Your input was flagged for "violence".',
            code=403,
            metadata={"reasons": ["violence"], "flagged_input": "Which one is …", "provider_name": "OpenAI"},
        ),
    ),
    "anthropic": (400, error("Output blocked by content filtering policy", type="invalid_request_error")),
    "dashscope": (
        400,
        {
            **error(
                "Input data may contain inappropriate content.",
                code="data_inspection_failed",
                type="data_inspection_failed",
            ),
            "id": "chatcmpl-1",
        },
    ),
    "dashscope, new": (
        400,
        error(
            "<400> InternalError.Algo.DataInspectionFailed: Input text data may contain inappropriate content."
        ),
    ),
    "zhipu": (
        400,
        error(
            "系统检测到输入或生成内容可能包含不安全或敏感内容，请您避免输入易产生敏感内容的提示语。",
            code="1301",
        ),
    ),
    "xai": (
        403,
        {"code": "permission-denied", "error": "Content violates usage guidelines. Failed check: SAFETY"},
    ),
    "deepseek": (400, error("Content Exists Risk", type="invalid_request_error")),
    "new api": (400, error("input contains sensitive words: [x]", code="sensitive_words_detected")),
}

ENDS = {
    "openai, no money": (
        429,
        error(
            "You exceeded your current quota, please check your plan and billing details.",
            type="insufficient_quota",
            code="insufficient_quota",
        ),
        "no credit for this account",
    ),
    "anthropic, no money": (
        400,
        error("Your credit balance is too low to access the Anthropic API.", type="invalid_request_error"),
        "no credit for this account",
    ),
    "openrouter, no money": (
        402,
        error(
            "This request requires more credits, or fewer max_tokens. You can only afford 92985.", code=402
        ),
        "no credit for this account",
    ),
    "deepseek, no money": (402, error("Insufficient Balance"), "no credit for this account"),
    "402 without a word": (402, b"", "no credit for this account"),
    "zhipu, no money": (
        429,
        error("余额不足或无可用资源包,请充值。", code="1113"),
        "no credit for this account",
    ),
    "gemini, quota of a day": (
        429,
        error(
            "You exceeded your current quota, please check your plan and billing details.",
            code=429,
            status="RESOURCE_EXHAUSTED",
            details=[{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}],
        ),
        "quota of the day is used up .* tomorrow",
    ),
    "openai, no model": (
        404,
        error("The model `gpt-9` does not exist or you do not have access to it.", code="model_not_found"),
        "knows no such model .* --model",
    ),
    "vllm, no model": (
        404,
        {"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError", "code": 404},
        "knows no such model",
    ),
    "ollama, no model": (
        404,
        error('model "llava" not found, try pulling it first', type="api_error", code=None),
        "knows no such model",
    ),
    "anthropic, no model": (
        404,
        {"type": "error", **error("model: claude-9", type="not_found_error")},
        "knows no such model",
    ),
    "gemini, no model": (
        404,
        error(
            "models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.",
            code=404,
            status="NOT_FOUND",
        ),
        "knows no such model",
    ),
    "openrouter, no model": (400, error("x/y is not a valid model ID", code=400), "knows no such model"),
    "mistral, no model": (
        400,
        {"message": "Invalid model: x", "type": "invalid_model"},
        "knows no such model",
    ),
    "azure, no model": (
        404,
        error("The API deployment for this resource does not exist.", code="DeploymentNotFound"),
        "knows no such model",
    ),
    "gemini, wrong key": (
        400,
        error("API key not valid. Please pass a valid API key.", code=400, status="INVALID_ARGUMENT"),
        "refuses the key",
    ),
    "openai, wrong key": (
        401,
        error("Incorrect API key provided", code="invalid_api_key"),
        "refuses the key",
    ),
    "openai, wrong country": (
        403,
        error("Country, region, or territory not supported", code="unsupported_country_region_territory"),
        "does not serve this account",
    ),
}


@pytest.mark.parametrize("case", TOO_LONG)
def test_a_request_over_the_window_is_too_long(case: str) -> None:
    refused = classify(*TOO_LONG[case])
    assert isinstance(refused, RequestRefusedError) and refused.reply.status == "too_long"


@pytest.mark.parametrize("case", REFUSED)
def test_a_request_that_a_filter_stopped_is_refused(case: str) -> None:
    refused = classify(*REFUSED[case])
    assert isinstance(refused, RequestRefusedError) and refused.reply.status == "refused"


@pytest.mark.parametrize("case", ENDS)
def test_what_no_request_can_change_ends_the_run_with_a_true_message(case: str) -> None:
    status, body, words = ENDS[case]
    with pytest.raises(ModelError, match=words) as raised:
        raise classify(status, body)
    assert not isinstance(raised.value, DeniedError)
    assert f"HTTP {status}: {read_error_message(b'' if body == b'' else json.dumps(body).encode())}" in str(
        raised.value
    )


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, error("Rate limit reached for gpt-4o on requests per min (RPM)", code="rate_limit_exceeded")),
        # The words of an empty account, for a limit of a minute.
        (
            429,
            error(
                "You exceeded your current quota, please check your plan and billing details.",
                status="RESOURCE_EXHAUSTED",
                details=[{"violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel"}]}],
            ),
        ),
        (429, error("Too many tokens, please wait before trying again.")),
        (503, error("The model is overloaded. Please try again later.", status="UNAVAILABLE")),
        (500, error("Internal server error")),
    ],
)
def test_what_may_pass_is_tried_again(status: int, body: Any) -> None:
    assert isinstance(classify(status, body), TransientError)


@pytest.mark.parametrize("status", [403, 404])
def test_a_denial_without_a_reason_is_left_to_the_run_to_judge(status: int) -> None:
    assert isinstance(classify(status, error("Forbidden")), DeniedError)


def test_a_number_that_is_no_code_says_nothing() -> None:
    refused = classify(400, error("bad image", code=400, n_prompt_tokens=1113, sizes=[1301]))
    assert isinstance(refused, RequestRefusedError) and refused.status == "error"


def test_a_request_that_is_sent_back_says_nothing_about_the_error() -> None:
    """FastAPI's servers send the whole request back with a 422."""
    detail = [
        {"type": "missing", "loc": ["body", "x"], "msg": "Field required", "input": "insufficient_quota"}
    ]
    refused = classify(422, {"detail": detail})
    assert isinstance(refused, RequestRefusedError) and refused.status == "error"


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, 429),
        ({"error": {"code": "502", "message": "upstream"}}, 502),
        ({"error": {"type": "overloaded_error", "message": "Overloaded"}}, 529),
        ({"error": "something broke"}, 500),
        ({"object": "error", "message": "no", "code": 400}, 400),
        ({"choices": [{"error": {"code": 429, "message": "slow down"}, "finish_reason": "error"}]}, 429),
    ],
)
def test_an_error_inside_a_success_has_the_status_it_names(answer: dict[str, Any], status: int) -> None:
    found = find_embedded_error(answer)
    assert found is not None and found[0] == status
    assert isinstance(classify_error(status, {}, encode_error(found[1]), "there"), Exception)


@pytest.mark.parametrize(
    "answer", [{"choices": [{"message": {"content": "A"}}], "error": None}, {"error": {}}, [], 7]
)
def test_an_answer_without_an_error_holds_none(answer: Any) -> None:
    assert find_embedded_error(answer) is None
