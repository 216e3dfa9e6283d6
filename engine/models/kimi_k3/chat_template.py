"""How Kimi K3 is spoken to, as a chat template: its repository has only Python code for it.

A message is a tag with attributes, its text, and the tag's end; an answer is two tags in one message, "think" and
"response". With ``enable_thinking`` false, or ``thinking_effort`` one of low, high and max, it is told so.
"""

CHAT_TEMPLATE = """\
{%- set thinks = enable_thinking is not defined or enable_thinking -%}
{%- if thinking_effort is not defined %}{% set thinking_effort = "max" %}{% endif -%}
{%- macro open(tag) -%}<|open|>{{ tag }}<|sep|>{%- endmacro -%}
{%- macro close(tag) -%}<|close|>{{ tag }}<|sep|>{%- endmacro -%}
{%- macro say(content) -%}
{%- if content is string -%}{{ content }}
{%- else -%}
{%- for part in content -%}{{ part.text if part.type == "text" else "<|media_pad|>" }}{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
{%- macro end() -%}{{ close("message") }}<|end_of_msg|>{%- endmacro -%}
{%- if thinks and thinking_effort -%}
{{ open('message role="system" type="thinking-effort"') -}}
`thinking_effort` guides on how much to think in your thinking channel (not including the response channel), \
supported values include `low`, `medium`, `high`, and `max`.
Now the system is invoked with `thinking_effort={{ thinking_effort }}`.{{ end() }}
{%- endif -%}
{%- for message in messages -%}
{{ open('message role="' ~ message.role ~ '"') }}
{%- if message.role == "assistant" -%}
{%- if thinks -%}{{ open("think") }}{{ message.reasoning_content or "" }}{{ close("think") }}{%- endif -%}
{{ open("response") }}{{ say(message.content) }}{{ close("response") }}
{%- else -%}
{{ say(message.content) }}
{%- endif -%}
{{ end() }}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ open('message role="assistant"') }}{{ open("think" if thinks else "response") }}
{%- endif -%}
"""
