"""Cutting Markdown into blocks: any way of arriving gives the same blocks, and only the last one changes."""

from __future__ import annotations

import pytest

from app.chat.source_blocks import MAX_LINES, BlockKind, SourceBlocks, split_blocks

SAMPLE = """# Title

A paragraph
of two lines.

- one

  still one
- two

1. first
2. second

```python
def f():

    return 1
```
After the fence.

> quoted
> text

$$
a = b

+ c
$$

| a | b |
|---|---|
| 1 | 2 |

~~~
tilde ``` inside
~~~

Last words"""


def kinds(text: str) -> list[BlockKind]:
    return [each.kind for each in split_blocks(text)]


def test_every_kind_of_block_is_cut_where_it_ends() -> None:
    texts = [each.text for each in split_blocks(SAMPLE)]
    assert texts == [
        "# Title",
        "A paragraph\nof two lines.",
        "- one\n\n  still one\n- two\n\n1. first\n2. second",
        "def f():\n\n    return 1",
        "After the fence.",
        "> quoted\n> text",
        "a = b\n\n+ c",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "tilde ``` inside",
        "Last words",
    ]


@pytest.mark.parametrize("step", [1, 2, 3, 7, 50])
def test_text_that_arrives_in_pieces_gives_the_same_blocks(step: int) -> None:
    growing = SourceBlocks()
    for start in range(0, len(SAMPLE), step):
        growing.append(SAMPLE[start : start + step])
    assert growing.blocks == split_blocks(SAMPLE)


def test_appending_changes_only_the_last_blocks() -> None:
    growing = SourceBlocks()
    for start in range(0, len(SAMPLE), 5):
        before = list(growing.blocks)
        changed = growing.append(SAMPLE[start : start + 5])
        assert growing.blocks[:changed] == before[:changed]
        assert changed >= len(before) - 2


def test_a_fence_that_is_still_open_is_code_already() -> None:
    (block,) = split_blocks("```js\nlet a = 1;\n")
    assert (block.kind, block.language, block.text, block.is_closed) == (BlockKind.CODE, "js", "let a = 1;", False)


def test_a_long_fence_comes_in_pieces_that_join_to_the_whole() -> None:
    code = "\n".join(f"line {number}" for number in range(MAX_LINES * 2 + 5))
    pieces = split_blocks(f"```text\n{code}\n```\n")
    assert "\n".join(each.text for each in pieces) == code
    assert [each.is_first for each in pieces] == [True, False, False]
    assert [each.is_last for each in pieces] == [False, False, True]


def test_a_long_list_is_cut_between_items() -> None:
    items = "\n".join(f"{number}. item" for number in range(1, MAX_LINES + 50))
    blocks = split_blocks(items)
    assert len(blocks) == 2
    assert blocks[1].text.startswith(f"{MAX_LINES + 1}. item")


def test_formulas_by_themselves_are_found_in_both_notations() -> None:
    assert kinds("$$x^2$$\n\n\\[\ny\n\\]\n\ntext $x$") == [BlockKind.FORMULA, BlockKind.FORMULA, BlockKind.PROSE]


def test_nothing_gives_nothing() -> None:
    assert split_blocks("\n\n  \n") == []
