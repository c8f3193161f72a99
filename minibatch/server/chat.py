"""The messages of a chat, as the text of a prompt: the model's own chat template renders them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import ApiError
from .parameters import Fields

if TYPE_CHECKING:
    from ..model.load import Model

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
EMPTY = ("refusal", "tool_calls", "function_call", "annotations", "audio")


def prompt_of(messages: object, model: Model) -> str:
    """The prompt string. Raises ApiError, naming the message, for what the model cannot read."""
    if not isinstance(messages, list) or not messages:
        raise ApiError(400, "messages must be a list with at least one message", param="messages")
    if model.tokenizer is None or not model.tokenizer.chat_template:
        raise ApiError(
            400, "this model has no chat template; use /v1/completions instead", param="messages"
        )
    rendered = [_message(message, f"messages[{i}]") for i, message in enumerate(messages)]
    render = model.tokenizer.apply_chat_template
    try:
        return render(rendered, tokenize=False, add_generation_prompt=True)
    except Exception as error:  # a template is a program of the model's author, and may refuse
        raise ApiError(
            400, f"the chat template rejects the messages: {error}", param="messages"
        ) from error


def _message(message: object, path: str) -> dict[str, str]:
    """Role and text of one message. path: its name in errors, such as "messages[0]"."""
    if not isinstance(message, dict):
        raise ApiError(400, f"{path} must be an object with role and content", param=path)
    fields = Fields(message, f"{path}.")
    role = fields.text("role")
    if role not in ROLES:
        raise fields.error("role", f"is {role!r}; give one of {', '.join(ROLES)}")
    text = _text(fields.take("content"), fields)
    for name in EMPTY:  # clients send an assistant's message back with these
        if fields.take(name):
            raise fields.error(name, "is not supported; leave it out")
    fields.text("name")  # no template here has a place for it
    fields.refuse_rest()
    return {"role": ROLES[role], "content": text}


def _text(content: object, fields: Fields) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise fields.error("content", "must be a string, or a list of parts of type text")
    texts = []
    for part in content:
        is_text = isinstance(part, dict) and part.get("type") == "text"
        if not is_text or not isinstance(part.get("text"), str):
            raise fields.error("content", 'may only have parts like {"type": "text", "text": ...}')
        texts.append(part["text"])
    return "".join(texts)
