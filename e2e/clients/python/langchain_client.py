# LangChain's package for OpenAI: invoke, stream, batch, structured output by each method, tools, embeddings.
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings
from shared import LENGTH, MODEL, PROMPT, ROOM, TEXTS, URL, Cat, add, tell

settings = {"model": MODEL, "base_url": URL, "api_key": "none", "temperature": 0, "max_retries": 0}
model = ChatOpenAI(**settings, max_tokens=LENGTH)
long = ChatOpenAI(**settings, max_tokens=ROOM)
responses = ChatOpenAI(**settings, max_tokens=LENGTH, use_responses_api=True)

answer = model.invoke(PROMPT)
calling = long.bind_tools([tool(add)], tool_choice="any")
whole = None
for chunk in calling.stream("What is 2 + 3?"):
    whole = chunk if whole is None else whole + chunk
single = long.bind_tools([tool(add)], tool_choice="add", parallel_tool_calls=False)
# Token ids of another model mean nothing here, so the texts themselves are sent.
encoder = OpenAIEmbeddings(model=MODEL, base_url=URL, api_key="none", check_embedding_ctx_length=False)
vectors = encoder.embed_documents(TEXTS)


def calls_of(message):
    return [[call["name"], call["args"]] for call in message.tool_calls]


tell(
    text=answer.content,
    streamed="".join(chunk.content for chunk in model.stream(PROMPT)),
    batch=[reply.content for reply in model.batch([PROMPT, PROMPT])],
    usage=answer.usage_metadata["output_tokens"],
    objects=[
        long.with_structured_output(Cat, method=method).invoke("A cat, please.").model_dump()
        for method in ("json_schema", "function_calling")
    ],
    calls=calls_of(calling.invoke("What is 2 + 3?")),
    streamedCalls=calls_of(whole),
    singleCalls=calls_of(single.invoke("What is 2 + 3?")),
    response=responses.invoke(PROMPT).content[0]["text"],
    completed=OpenAI(**settings, max_tokens=5).invoke("Once upon") != "",
    vectors=[len(vectors), len(vectors[0]) == len(encoder.embed_query("a cat")) > 0],
)
