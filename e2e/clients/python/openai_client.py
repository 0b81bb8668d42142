# OpenAI's Python library: chats, streams, tools, objects, scores of texts, vectors, responses and errors.
import json

import openai
from openai import OpenAI
from shared import ADD, LENGTH, MESSAGES, MODEL, PROMPT, ROOM, TEXTS, TOO_LONG, URL, Cat, tell

client = OpenAI(base_url=URL, api_key="none", max_retries=0)
chats = client.chat.completions
settings = {"model": MODEL, "messages": MESSAGES, "temperature": 0}
usage_asked = {"stream_options": {"include_usage": True}}


def arguments_of(call):
    return [call.function.name, json.loads(call.function.arguments)]


answer = chats.create(**settings, max_tokens=LENGTH)
streamed, usage = "", None
for chunk in chats.create(**settings, max_tokens=LENGTH, stream=True, **usage_asked):
    streamed += "".join(choice.delta.content or "" for choice in chunk.choices)
    usage = chunk.usage or usage
scored = chats.create(**settings, max_tokens=4, logprobs=True, top_logprobs=3).choices[0].logprobs.content
parsed = chats.parse(**settings, max_tokens=ROOM, response_format=Cat).choices[0].message.parsed

forced = chats.create(**settings, max_tokens=ROOM, tools=[ADD], tool_choice="required").choices[0]
call = forced.message.tool_calls[0]
strict = openai.pydantic_function_tool(Cat, name="keep")
named = {"type": "function", "function": {"name": "keep"}}
with chats.stream(**settings, max_tokens=ROOM, tools=[strict], tool_choice=named) as stream:
    kinds = {event.type for event in stream}
    kept = stream.get_final_completion().choices[0].message.tool_calls[0].function.parsed_arguments
history = [
    *MESSAGES,
    forced.message.model_dump(exclude_none=True),
    {"role": "tool", "tool_call_id": call.id, "content": "5"},
]
after = chats.create(model=MODEL, messages=history, tools=[ADD], tool_choice="required", max_tokens=ROOM)

texts = client.completions
only_read = texts.create(model=MODEL, prompt="Once upon a time", max_tokens=0, echo=True, logprobs=2).choices[0]
batch = texts.create(model=MODEL, prompt=[[5, 6, 7], [8, 9]], max_tokens=1, echo=True, logprobs=1, temperature=0)
continued = texts.create(model=MODEL, prompt="Once upon", max_tokens=5, temperature=0).choices[0].text
streamed_text = "".join(
    chunk.choices[0].text
    for chunk in texts.create(model=MODEL, prompt="Once upon", max_tokens=5, temperature=0, stream=True)
)

binary = client.embeddings.create(model=MODEL, input=TEXTS).data
numbers = client.embeddings.create(model=MODEL, input=TEXTS, encoding_format="float").data
gap = max(abs(a - b) for a, b in zip(binary[1].embedding, numbers[1].embedding, strict=True))

asked = {"model": MODEL, "input": PROMPT, "temperature": 0}
response = client.responses.create(**asked, max_output_tokens=LENGTH)
events = [event.type for event in client.responses.create(**asked, max_output_tokens=LENGTH, stream=True)]
response_parsed = client.responses.parse(**asked, max_output_tokens=ROOM, text_format=Cat).output_parsed
tool = {"type": "function", **ADD["function"], "strict": True}
response_call = client.responses.create(
    **asked, max_output_tokens=ROOM, tools=[tool], tool_choice="required"
).output[0]


def error_of(kind, ask):
    try:
        ask()
    except kind as error:
        return [error.status_code, error.code, error.param]
    return None


tell(
    text=answer.choices[0].message.content,
    streamed=streamed,
    finish=answer.choices[0].finish_reason,
    isSameUsage=usage.total_tokens == answer.usage.total_tokens,
    scored=[len(scored), len(scored[0].top_logprobs)],
    object=parsed.model_dump(),
    call=arguments_of(call),
    callFinish=forced.finish_reason,
    kept=kept.model_dump(),
    hasArgumentEvents="tool_calls.function.arguments.done" in kinds,
    areCallsApart=after.choices[0].message.tool_calls[0].id != call.id,
    read=[only_read.text, only_read.finish_reason, only_read.logprobs.token_logprobs[0]],
    areRead=len(only_read.logprobs.text_offset) == len(only_read.logprobs.tokens) > 3,
    batch=[[len(choice.logprobs.tokens), choice.index] for choice in batch.choices],
    isContinued=continued == streamed_text != "",
    vectors=[len(binary), len(binary[0].embedding) == len(numbers[0].embedding), gap < 1e-6],
    response=response.output_text,
    responseStatus=[response.status, events[0], events[-1]],
    responseObject=response_parsed.model_dump(),
    responseCall=[response_call.name, json.loads(response_call.arguments)],
    models=[model.id for model in client.models.list()],
    errors=[
        error_of(openai.BadRequestError, lambda: chats.create(model=MODEL, messages=[])),
        error_of(openai.BadRequestError, lambda: chats.create(**{**settings, "temperature": -1})),
        error_of(openai.BadRequestError, lambda: texts.create(model=MODEL, prompt=[-1])),
        error_of(openai.BadRequestError, lambda: texts.create(model=MODEL, prompt=TOO_LONG)),
        error_of(openai.NotFoundError, lambda: client.models.retrieve("another")),
    ],
)
