# LiteLLM: completions, streams, tools, objects, texts with scores, embeddings, responses and errors.
import asyncio
import json
import os

# Otherwise LiteLLM fetches prices from its project's site.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from shared import ADD, LENGTH, MESSAGES, MODEL, PROMPT, ROOM, TEXTS, TOO_LONG, URL, Cat, tell

litellm.suppress_debug_info = True
server = {"api_base": URL, "api_key": "none", "max_retries": 0}
settings = {"model": f"openai/{MODEL}", **server, "temperature": 0}
texts = {"model": f"text-completion-openai/{MODEL}", **server, "temperature": 0}
forced = {"tools": [ADD], "tool_choice": "required", "max_tokens": ROOM}


def text_of(chunks):
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def calls_of(response):
    calls = response.choices[0].message.tool_calls
    return [[call.function.name, json.loads(call.function.arguments)] for call in calls]


answer = litellm.completion(messages=MESSAGES, max_tokens=LENGTH, **settings)
chunks = list(
    litellm.completion(messages=MESSAGES, **forced, stream=True, stream_options={"include_usage": True}, **settings)
)
built = litellm.stream_chunk_builder(chunks)
scored = litellm.text_completion(prompt="Once upon", max_tokens=5, logprobs=1, echo=True, **texts).choices[0]
vectors = litellm.embedding(model=f"openai/{MODEL}", input=TEXTS, **server)
response = litellm.responses(model=f"openai/{MODEL}", input=PROMPT, temperature=0, max_output_tokens=LENGTH, **server)


def error_of(**request):
    try:
        litellm.completion(**{**settings, **request})
    except litellm.BadRequestError as error:
        return type(error).__name__
    return None


tell(
    text=answer.choices[0].message.content,
    streamed=text_of(litellm.completion(messages=MESSAGES, max_tokens=LENGTH, stream=True, **settings)),
    awaited=asyncio.run(litellm.acompletion(messages=MESSAGES, max_tokens=LENGTH, **settings)).choices[0].message.content,
    usage=answer.usage.completion_tokens,
    calls=calls_of(litellm.completion(messages=MESSAGES, **forced, **settings)),
    streamedCalls=calls_of(built),
    hasUsage=built.usage.total_tokens > 0,
    object=json.loads(
        litellm.completion(messages=MESSAGES, response_format=Cat, max_tokens=ROOM, **settings).choices[0].message.content
    ),
    scored=[scored.logprobs.token_logprobs[0], scored.text.startswith("Once upon"), len(scored.logprobs.tokens) > 6],
    vectors=[len(vectors.data), len(vectors.data[0]["embedding"]) > 0],
    response=response.output[0].content[0].text,
    errors=[
        error_of(messages=[{"role": "user", "content": TOO_LONG}]),
        error_of(messages=MESSAGES, temperature=-1),
    ],
)
