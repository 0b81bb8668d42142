# LlamaIndex's packages for servers like OpenAI's: chats, streams, texts, structured output, tools, embeddings.
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike
from shared import LENGTH, MODEL, PROMPT, ROOM, TEXTS, URL, Cat, add, tell

settings = {
    "model": MODEL,
    "api_base": URL,
    "api_key": "none",
    "temperature": 0,
    "context_window": 512,
    "max_retries": 0,
}
chat = {"is_chat_model": True, "is_function_calling_model": True, "should_use_structured_outputs": True}
model = OpenAILike(**settings, **chat, max_tokens=LENGTH)
long = OpenAILike(**settings, **chat, max_tokens=ROOM)
plain = OpenAILike(**settings, is_chat_model=False, max_tokens=5)
tool = FunctionTool.from_defaults(add)
asked = {"user_msg": "What is 2 + 3?", "tool_required": True}
messages = [ChatMessage(role="user", content=PROMPT)]


def calls_of(response):
    return [[call.tool_name, call.tool_kwargs] for call in long.get_tool_calls_from_response(response)]


*_, last = long.stream_chat_with_tools([tool], **asked)
continued = plain.complete("Once upon").text
encoder = OpenAILikeEmbedding(model_name=MODEL, api_base=URL, api_key="none", max_retries=0)
vectors = encoder.get_text_embedding_batch(TEXTS)
tell(
    text=model.chat(messages).message.content,
    streamed="".join(chunk.delta for chunk in model.stream_chat(messages)),
    asked=model.complete(PROMPT).text,
    isContinued="".join(chunk.delta for chunk in plain.stream_complete("Once upon")) == continued != "",
    object=long.as_structured_llm(Cat).complete("A cat, please.").raw.model_dump(),
    calls=calls_of(long.chat_with_tools([tool], **asked)),
    streamedCalls=calls_of(last),
    result=long.predict_and_call([tool], **asked).response,
    vectors=[len(vectors), len(vectors[0]) == len(encoder.get_query_embedding("a cat")) > 0],
)
