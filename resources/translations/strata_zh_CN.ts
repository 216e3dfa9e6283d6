<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN">
<context>
    <name>AboutDialog</name>
    <message>
        <source>About Strata</source>
        <translation>关于 Strata</translation>
    </message>
    <message>
        <source>Version {version}</source>
        <translation>版本 {version}</translation>
    </message>
    <message>
        <source>Chat with language models that are bigger than your computer&apos;s memory.</source>
        <translation>与比您电脑内存还大的语言模型对话。</translation>
    </message>
    <message>
        <source>Everything happens on this computer. Strata sends nothing about you to anybody, does not start with the computer and never updates itself.</source>
        <translation>一切都在这台电脑上进行。Strata 不会向任何人发送您的信息，不会随电脑启动，也不会自行更新。</translation>
    </message>
    <message>
        <source>Free software under the MIT licence. It stands on Qt and PySide (LGPL 3), PyTorch, Hugging Face Transformers and many more; their licences come with the program.</source>
        <translation>以 MIT 许可证发布的自由软件。它建立在 Qt 和 PySide（LGPL 3）、PyTorch、Hugging Face Transformers 等众多项目之上，各自的许可证随程序附带。</translation>
    </message>
    <message>
        <source>Licences…</source>
        <translation>许可证…</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>AccessBox</name>
    <message>
        <source>Open its page</source>
        <translation>打开它的页面</translation>
    </message>
    <message>
        <source>Your token, beginning with hf_</source>
        <translation>您的令牌，以 hf_ 开头</translation>
    </message>
    <message>
        <source>Token of the hub</source>
        <translation>Hub 令牌</translation>
    </message>
    <message>
        <source>Use this token</source>
        <translation>使用此令牌</translation>
    </message>
    <message>
        <source>It is kept in the keyring of your system where there is one, and otherwise for this session.</source>
        <translation>如果系统有密钥环，令牌会保存在其中；否则仅在本次运行中有效。</translation>
    </message>
    <message>
        <source>Open its page, sign in and accept the licence there. Then make a token for reading in your account&apos;s settings and put it here.</source>
        <translation>请打开它的页面，登录并接受许可证。然后在账户设置中创建一个只读令牌，填在这里。</translation>
    </message>
    <message>
        <source>Open its page and accept the licence there with the account this token belongs to, or use another one.</source>
        <translation>请打开它的页面，用此令牌所属的账户接受许可证，或换用另一个令牌。</translation>
    </message>
</context>
<context>
    <name>Announcer</name>
    <message>
        <source>The answer is there</source>
        <translation>回答已完成</translation>
    </message>
    <message>
        <source>The answer could not be finished</source>
        <translation>回答未能完成</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>完成</translation>
    </message>
    <message>
        <source>A job needs you</source>
        <translation>有任务需要您处理</translation>
    </message>
</context>
<context>
    <name>AnswerNotice</name>
    <message>
        <source>The answer cannot be saved at the moment.</source>
        <translation>目前无法保存回答。</translation>
    </message>
    <message>
        <source>It goes on, and is saved as soon as that works again. Check that the drive is there and is not full.</source>
        <translation>回答会继续，一旦恢复就会保存。请检查硬盘是否连接、是否已满。</translation>
    </message>
    <message>
        <source>Saving works again. Everything that waited is saved.</source>
        <translation>又可以保存了。等待保存的内容都已保存。</translation>
    </message>
</context>
<context>
    <name>AttachDeeds</name>
    <message>
        <source>{model} reads text only: it is not given the images of this chat</source>
        <translation>{model} 只能读取文字：不会把此对话中的图片交给它</translation>
    </message>
    <message>
        <source>{model} reads text only.</source>
        <translation>{model} 只能读取文字。</translation>
    </message>
    <message>
        <source>Choose a model that sees images, or take the images off.</source>
        <translation>请选择能看图片的模型，或去掉图片。</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>Up to {most} files go with a message; the others were left out.</source>
        <translation>一条消息最多附带 {most} 个文件；其余的没有加入。</translation>
    </message>
</context>
<context>
    <name>Attaching</name>
    <message>
        <source>Pasted image</source>
        <translation>粘贴的图片</translation>
    </message>
    <message>
        <source>“{name}” is an image, and {model} reads text only.</source>
        <translation>“{name}”是图片，而 {model} 只能读取文字。</translation>
    </message>
    <message>
        <source>this model</source>
        <translation>这个模型</translation>
    </message>
    <message>
        <source>Choose a model that sees images.</source>
        <translation>请选择能看图片的模型。</translation>
    </message>
    <message>
        <source>“{name}” could not be kept: {reason}.</source>
        <translation>“{name}”无法保存：{reason}。</translation>
    </message>
    <message>
        <source>Make room on the drive of your chats.</source>
        <translation>请在保存对话的硬盘上腾出空间。</translation>
    </message>
</context>
<context>
    <name>BlockStrip</name>
    <message>
        <source>Blocks of this pass</source>
        <translation>本轮计算的块</translation>
    </message>
    <message>
        <source>{done} of {count} blocks</source>
        <translation>{done} / {count} 块</translation>
    </message>
    <message>
        <source>{done} of {blocks} blocks</source>
        <translation>{done} / {blocks} 块</translation>
    </message>
</context>
<context>
    <name>CardDialog</name>
    <message>
        <source>Fetching the description</source>
        <translation>正在获取说明</translation>
    </message>
    <message>
        <source>Description of {repo}</source>
        <translation>{repo} 的说明</translation>
    </message>
    <message>
        <source>Open its page</source>
        <translation>打开它的页面</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Its publisher has written no description.</source>
        <translation>发布者没有写说明。</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
</context>
<context>
    <name>ChatListView</name>
    <message>
        <source>Chats</source>
        <translation>对话</translation>
    </message>
</context>
<context>
    <name>ChatPage</name>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Find in this chat</source>
        <translation>在此对话中查找</translation>
    </message>
    <message>
        <source>Options of this chat</source>
        <translation>此对话的选项</translation>
    </message>
    <message>
        <source>Your message is sent as soon as the engine is ready.</source>
        <translation>引擎准备就绪后会立即发送您的消息。</translation>
    </message>
</context>
<context>
    <name>ChatRowDelegate</name>
    <message>
        <source>Title of the chat</source>
        <translation>对话标题</translation>
    </message>
    <message>
        <source>Name of the folder</source>
        <translation>文件夹名称</translation>
    </message>
</context>
<context>
    <name>ChatSidebar</name>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>Search chats</source>
        <translation>搜索对话</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Nothing found</source>
        <translation>没有找到</translation>
    </message>
    <message>
        <source>Your chats will be listed here</source>
        <translation>您的对话将显示在这里</translation>
    </message>
    <message>
        <source>Export all chats as JSON…</source>
        <translation>将所有对话导出为 JSON…</translation>
    </message>
    <message>
        <source>All chats</source>
        <translation>所有对话</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>重命名</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>取消置顶</translation>
    </message>
    <message>
        <source>Pin</source>
        <translation>置顶</translation>
    </message>
    <message>
        <source>Mark as read</source>
        <translation>标为已读</translation>
    </message>
    <message>
        <source>Export as Markdown…</source>
        <translation>导出为 Markdown…</translation>
    </message>
    <message>
        <source>Export as JSON…</source>
        <translation>导出为 JSON…</translation>
    </message>
    <message>
        <source>Import chats…</source>
        <translation>导入对话…</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>Chat deleted</source>
        <translation>对话已删除</translation>
    </message>
    <message>
        <source>Folder deleted, chats kept</source>
        <translation>文件夹已删除，对话已保留</translation>
    </message>
</context>
<context>
    <name>ChoiceStep</name>
    <message>
        <source>Choose a model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>The times are for this computer. A typical answer has 300 tokens, about 220 words.</source>
        <translation>时间按这台电脑估算。一个典型的回答有 300 个词元，约 400 个汉字。</translation>
    </message>
    <message>
        <source>A model I already have</source>
        <translation>我已有的模型</translation>
    </message>
    <message>
        <source>Begin with the small starter</source>
        <translation>先用小型入门模型</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>A folder as a hub ships it (config.json and weight files), a hub cache folder, or a .gguf file. You can also drop it here.</source>
        <translation>Hub 发布的文件夹（config.json 和权重文件）、Hub 缓存文件夹，或 .gguf 文件。也可以把它拖放到这里。</translation>
    </message>
    <message>
        <source>Choose a folder…</source>
        <translation>选择文件夹…</translation>
    </message>
    <message>
        <source>Choose a .gguf file…</source>
        <translation>选择 .gguf 文件…</translation>
    </message>
    <message>
        <source>The folder of a model</source>
        <translation>模型的文件夹</translation>
    </message>
    <message>
        <source>A .gguf file</source>
        <translation>.gguf 文件</translation>
    </message>
    <message>
        <source>Models (*.gguf);;All files (*)</source>
        <translation>模型 (*.gguf);;所有文件 (*)</translation>
    </message>
    <message>
        <source>Search for a model</source>
        <translation>搜索模型</translation>
    </message>
    <message>
        <source>Search the hub</source>
        <translation>搜索 Hub</translation>
    </message>
    <message>
        <source>On the hub</source>
        <translation>Hub 上的模型</translation>
    </message>
    <message>
        <source>Searching the hub</source>
        <translation>正在搜索 Hub</translation>
    </message>
    <message>
        <source>The hub has no text model of that name with safetensors weights.</source>
        <translation>Hub 上没有该名称且带 safetensors 权重的文本模型。</translation>
    </message>
    <message>
        <source>Continue with {title}</source>
        <translation>继续处理 {title}</translation>
    </message>
    <message>
        <source>Found on this computer</source>
        <translation>在这台电脑上找到的</translation>
    </message>
    <message>
        <source>Catalogue</source>
        <translation>模型目录</translation>
    </message>
    <message>
        <source>The starter comes with Strata. For any other model, put its folder on this computer and choose it here.</source>
        <translation>入门模型随 Strata 附带。要用其他模型，请把它的文件夹放到这台电脑上，然后在这里选择。</translation>
    </message>
    <message>
        <source>Search by name, language or licence</source>
        <translation>按名称、语言或许可证搜索</translation>
    </message>
    <message>
        <source>No model of the catalogue matches. Try fewer words.</source>
        <translation>目录中没有匹配的模型。请减少关键词再试。</translation>
    </message>
</context>
<context>
    <name>CodeDialog</name>
    <message>
        <source>Files of the model&apos;s code</source>
        <translation>该模型的代码文件</translation>
    </message>
    <message>
        <source>Don&apos;t run it</source>
        <translation>不运行</translation>
    </message>
    <message>
        <source>Allow for this model and version</source>
        <translation>允许此模型的这一版本</translation>
    </message>
    <message>
        <source>Run the code that comes with this model?</source>
        <translation>要运行此模型自带的代码吗？</translation>
    </message>
    <message>
        <source>{model}, version {revision}, runs only with these Python files:</source>
        <translation>{model}（版本 {revision}）只有用以下 Python 文件才能运行：</translation>
    </message>
    <message>
        <source>This code is not Strata&apos;s, and Strata has not checked it. It can do anything you can do on this computer: read, change and delete your files, and send them elsewhere.</source>
        <translation>这些代码不是 Strata 的，Strata 也没有检查过。凡是您在这台电脑上能做的事，它都能做：读取、修改和删除您的文件，并把它们发送到别处。</translation>
    </message>
    <message>
        <source>If the files change, you are asked again.</source>
        <translation>如果这些文件有变化，会再次询问您。</translation>
    </message>
</context>
<context>
    <name>CodeView</name>
    <message>
        <source>Copy the code</source>
        <translation>复制代码</translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message>
        <source>Attach text files</source>
        <translation>附加文本文件</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>Model: {title}</source>
        <translation>模型：{title}</translation>
    </message>
    <message>
        <source>Write to {model}</source>
        <translation>写给 {model}</translation>
    </message>
    <message>
        <source>Write a message</source>
        <translation>输入消息</translation>
    </message>
    <message>
        <source>Think before answering</source>
        <translation>回答前先思考</translation>
    </message>
    <message>
        <source>Think</source>
        <translation>思考</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Attach images and text files</source>
        <translation>添加图片和文本文件</translation>
    </message>
    <message>
        <source>Stop the answer</source>
        <translation>停止回答</translation>
    </message>
    <message>
        <source>Editing the answer: it becomes a new version</source>
        <translation>正在编辑回答：将成为一个新版本</translation>
    </message>
    <message>
        <source>Editing your message: it becomes a new version and is answered again</source>
        <translation>正在编辑您的消息：将成为一个新版本并重新回答</translation>
    </message>
</context>
<context>
    <name>ContextMeter</name>
    <message>
        <source>{used} of {context} tokens of the context are used</source>
        <translation>上下文已用 {used} / {context} 个词元</translation>
    </message>
    <message>
        <source>The conversation has {used} tokens</source>
        <translation>对话共有 {used} 个词元</translation>
    </message>
</context>
<context>
    <name>ConversationList</name>
    <message>
        <source>Pinned</source>
        <translation>已置顶</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>今天</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>昨天</translation>
    </message>
    <message>
        <source>Last 7 days</source>
        <translation>过去 7 天</translation>
    </message>
    <message>
        <source>Last 30 days</source>
        <translation>过去 30 天</translation>
    </message>
    <message>
        <source>Earlier this year</source>
        <translation>今年早些时候</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>{title}, is being answered</source>
        <translation>{title}，正在回答</translation>
    </message>
    <message>
        <source>{title}, a new answer</source>
        <translation>{title}，有新回答</translation>
    </message>
    <message>
        <source>{group}, folded, chats: {count}</source>
        <translation>{group}，已折叠，对话：{count}</translation>
    </message>
    <message>
        <source>{group}, chats: {count}</source>
        <translation>{group}，对话：{count}</translation>
    </message>
</context>
<context>
    <name>CostStep</name>
    <message>
        <source>Time and memory</source>
        <translation>时间与内存</translation>
    </message>
    <message>
        <source>Looking at the model. Only its description is read, no weights.</source>
        <translation>正在查看模型。只读取它的描述，不读取权重。</translation>
    </message>
    <message>
        <source>Keep the downloaded files as well</source>
        <translation>同时保留下载的文件</translation>
    </message>
    <message>
        <source>Delete the original as it is cut</source>
        <translation>边切分边删除原文件</translation>
    </message>
    <message>
        <source>Where it goes and what it costs on this computer.</source>
        <translation>它将存放在哪里，以及在这台电脑上的开销。</translation>
    </message>
    <message>
        <source>Prepare and chat</source>
        <translation>准备并开始对话</translation>
    </message>
    <message>
        <source>Check again</source>
        <translation>重新检查</translation>
    </message>
    <message>
        <source>Choose another model</source>
        <translation>选择其他模型</translation>
    </message>
    <message>
        <source>Where it goes</source>
        <translation>存放位置</translation>
    </message>
    <message>
        <source>Use the usual folder</source>
        <translation>使用常用文件夹</translation>
    </message>
    <message>
        <source>This model is on this computer already, cut and ready.</source>
        <translation>这个模型已在这台电脑上，切分完毕，可以使用。</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>for each token</source>
        <translation>每个词元</translation>
    </message>
    <message>
        <source>for a typical answer</source>
        <translation>一个典型回答</translation>
    </message>
    <message>
        <source>of memory while it is loaded</source>
        <translation>加载后占用的内存</translation>
    </message>
    <message>
        <source>{verdict}. For every token {bytes} are read from the drive, at {speed}; the rest stays in memory.</source>
        <translation>{verdict}。每个词元要从硬盘读取 {bytes}，速度 {speed}；其余部分常驻内存。</translation>
    </message>
    <message>
        <source>{verdict}. Nothing is read from the drive while it answers.</source>
        <translation>{verdict}。回答时不从硬盘读取。</translation>
    </message>
    <message>
        <source>to download</source>
        <translation>需下载</translation>
    </message>
    <message>
        <source>needed to begin</source>
        <translation>开始时需要</translation>
    </message>
    <message>
        <source>more at the peak</source>
        <translation>峰值时另需</translation>
    </message>
    <message>
        <source>less afterwards</source>
        <translation>完成后减少</translation>
    </message>
    <message>
        <source>more afterwards</source>
        <translation>完成后增加</translation>
    </message>
    <message>
        <source>free now</source>
        <translation>目前可用</translation>
    </message>
    <message>
        <source>It was begun in {folder} and is finished there.</source>
        <translation>它是在 {folder} 中开始的，也将在那里完成。</translation>
    </message>
    <message>
        <source>Otherwise each file is removed once every block cut from it has been read back and verified.</source>
        <translation>否则，当从某个文件切出的每一块都已读回并校验后，会移除该文件。</translation>
    </message>
    <message>
        <source>Each weight file of the original goes only once every block cut from it has been read back and verified. The original is then gone from its place, also for other programs.</source>
        <translation>只有当从某个权重文件切出的每一块都已读回并校验后，才会删除该文件。之后原文件将不复存在，其他程序也无法再使用。</translation>
    </message>
    <message>
        <source>At the peak {peak} instead of {usual}.</source>
        <translation>峰值为 {peak}，而不是 {usual}。</translation>
    </message>
    <message>
        <source>Free some space, or let it go to another drive.</source>
        <translation>请腾出一些空间，或让它存放到另一块硬盘。</translation>
    </message>
    <message>
        <source>{size} less than today</source>
        <translation>比现在少 {size}</translation>
    </message>
    <message>
        <source>Afterwards {after} instead of {usual}.</source>
        <translation>完成后{after}，而不是{usual}。</translation>
    </message>
    <message>
        <source>{size} more than today</source>
        <translation>比现在多 {size}</translation>
    </message>
    <message>
        <source>Download and prepare</source>
        <translation>下载并准备</translation>
    </message>
    <message>
        <source>Free some space, or let the original be deleted as it is cut.</source>
        <translation>请腾出一些空间，或允许边切分边删除原文件。</translation>
    </message>
    <message>
        <source>Delete it as it is cut</source>
        <translation>边切分边删除</translation>
    </message>
</context>
<context>
    <name>CrashDialog</name>
    <message>
        <source>Something went wrong in Strata</source>
        <translation>Strata 出错了</translation>
    </message>
    <message>
        <source>This is a mistake in the program, not yours. Your chats and models are safe: everything is saved as it happens. The report below helps us mend it. It contains no token and no text of your chats; nothing is sent unless you send it.</source>
        <translation>这是程序的错误，不是您的错误。您的对话和模型都是安全的：一切都会即时保存。下面的报告有助于我们修复问题。其中不含任何令牌，也不含您的对话内容；除非您自己发送，否则不会发送任何东西。</translation>
    </message>
    <message>
        <source>Report</source>
        <translation>报告</translation>
    </message>
    <message>
        <source>Copy report</source>
        <translation>复制报告</translation>
    </message>
    <message>
        <source>Open log folder</source>
        <translation>打开日志文件夹</translation>
    </message>
    <message>
        <source>Quit Strata</source>
        <translation>退出 Strata</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>继续</translation>
    </message>
    <message numerus="yes">
        <source>%n more since; all are in the log.</source>
        <translation>
            <numerusform>此后又发生 %n 次；全部记录在日志中。</numerusform>
        </translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>已复制</translation>
    </message>
</context>
<context>
    <name>DriveBar</name>
    <message>
        <source>Drive: {free} free, {peak} more at the peak, {after} more afterwards</source>
        <translation>硬盘：可用 {free}，峰值时另需 {peak}，完成后另占 {after}</translation>
    </message>
</context>
<context>
    <name>DrivePicker</name>
    <message>
        <source>Other folder…</source>
        <translation>其他文件夹…</translation>
    </message>
    <message>
        <source>The folder for this model</source>
        <translation>存放此模型的文件夹</translation>
    </message>
</context>
<context>
    <name>Drives</name>
    <message>
        <source>The drive that holds your models</source>
        <translation>存放模型的硬盘</translation>
    </message>
    <message>
        <source>The system&apos;s drive</source>
        <translation>系统所在的硬盘</translation>
    </message>
    <message>
        <source>The drive of your own files</source>
        <translation>存放您自己文件的硬盘</translation>
    </message>
    <message>
        <source>Drive {name}</source>
        <translation>硬盘 {name}</translation>
    </message>
    <message>
        <source>{free} of {total} free</source>
        <translation>可用 {free} / {total}</translation>
    </message>
    <message>
        <source>nothing can be written to it as a whole</source>
        <translation>无法直接写入</translation>
    </message>
    <message>
        <source>being measured…</source>
        <translation>正在测速…</translation>
    </message>
    <message>
        <source>not measured</source>
        <translation>未测速</translation>
    </message>
    <message>
        <source>{speed} ({word})</source>
        <translation>{speed}（{word}）</translation>
    </message>
    <message>
        <source>fast</source>
        <translation>快</translation>
    </message>
    <message>
        <source>good</source>
        <translation>良好</translation>
    </message>
    <message>
        <source>slow</source>
        <translation>慢</translation>
    </message>
    <message>
        <source>good for keeping models, too slow for answers</source>
        <translation>适合存放模型，回答则太慢</translation>
    </message>
    <message>
        <source>Measured on {day}</source>
        <translation>测于 {day}</translation>
    </message>
    <message>
        <source>reads {size} a second</source>
        <translation>每秒读取 {size}</translation>
    </message>
    <message>
        <source>{size} free</source>
        <translation>剩余 {size}</translation>
    </message>
</context>
<context>
    <name>EmptyChat</name>
    <message>
        <source>What would you like to know?</source>
        <translation>您想了解什么？</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>{model} answers on this computer. Nothing leaves it.</source>
        <translation>{model} 在这台电脑上回答，任何内容都不会离开。</translation>
    </message>
    <message>
        <source>There is no model on this computer yet.</source>
        <translation>这台电脑上还没有模型。</translation>
    </message>
    <message>
        <source>Looking for models…</source>
        <translation>正在查找模型…</translation>
    </message>
    <message>
        <source>Explain how a heat pump works, as if I were twelve</source>
        <translation>像给十二岁的孩子那样解释热泵的工作原理</translation>
    </message>
    <message>
        <source>Write a polite letter to a neighbour about noise at night</source>
        <translation>给邻居写一封关于夜间噪音的礼貌信件</translation>
    </message>
    <message>
        <source>Plan three days in Lisbon on a small budget</source>
        <translation>用小预算安排三天的里斯本之行</translation>
    </message>
</context>
<context>
    <name>Engine</name>
    <message>
        <source>Choose a model made for chat.</source>
        <translation>请选择为对话制作的模型。</translation>
    </message>
    <message>
        <source>Start a new conversation.</source>
        <translation>请开始新的对话。</translation>
    </message>
    <message>
        <source>Add tokenizer.json to its original and cut it again, or choose another model.</source>
        <translation>请把 tokenizer.json 放进原始模型后重新切分，或选择其他模型。</translation>
    </message>
    <message>
        <source>Close other programs, start a new conversation, or allow the model less memory in the settings.</source>
        <translation>请关闭其他程序、开始新的对话，或在设置里让模型少用一些内存。</translation>
    </message>
    <message>
        <source>Choose a model first.</source>
        <translation>请先选择一个模型。</translation>
    </message>
    <message>
        <source>A model of type “{type}”{architecture} does not generate text; Strata runs decoder-only language models.</source>
        <translation>类型为“{type}”的模型{architecture}不生成文本；Strata 只运行纯解码器语言模型。</translation>
    </message>
    <message>
        <source>Choose a version of it with safetensors files.</source>
        <translation>请选择带 safetensors 文件的版本。</translation>
    </message>
    <message>
        <source>Choose the folder that holds config.json and the weight files.</source>
        <translation>请选择包含 config.json 和权重文件的文件夹。</translation>
    </message>
    <message>
        <source>Choose a folder with a model, or a .gguf file.</source>
        <translation>请选择包含模型的文件夹或 .gguf 文件。</translation>
    </message>
    <message>
        <source>Choose a folder as a hub ships it, or a .gguf file.</source>
        <translation>请选择与 Hub 上内容一致的文件夹，或 .gguf 文件。</translation>
    </message>
    <message>
        <source>Choose another model, or allow this code if you trust where it comes from.</source>
        <translation>请选择其他模型；如果您信任这些代码的来源，也可以允许它们。</translation>
    </message>
    <message>
        <source>Search for it on the hub and download it first.</source>
        <translation>请先在 Hub 上搜索并下载它。</translation>
    </message>
    <message>
        <source>Choose the folder that holds it: {folder}</source>
        <translation>请选择包含它的文件夹：{folder}</translation>
    </message>
    <message>
        <source>Download it again: it goes on where it stopped.</source>
        <translation>请再次下载：它会从中断的地方继续。</translation>
    </message>
    <message>
        <source>Choose a .gguf file, or a folder with config.json and weight files.</source>
        <translation>请选择 .gguf 文件，或包含 config.json 和权重文件的文件夹。</translation>
    </message>
    <message>
        <source>Download the file again, or fetch it with git-lfs (“git lfs pull” in that folder).</source>
        <translation>请重新下载这个文件，或用 git-lfs 获取（在该文件夹运行“git lfs pull”）。</translation>
    </message>
    <message>
        <source>Choose one of them, such as {file}</source>
        <translation>请选择其中一个，例如 {file}</translation>
    </message>
    <message>
        <source>Repair it in the library first.</source>
        <translation>请先在模型库中修复它。</translation>
    </message>
    <message>
        <source>Close other programs, or allow the model less memory in the settings.</source>
        <translation>请关闭其他程序，或在设置里让模型少用一些内存。</translation>
    </message>
    <message>
        <source>Download the model again with its tokenizer files, or choose another model.</source>
        <translation>请连同分词器文件重新下载模型，或选择其他模型。</translation>
    </message>
    <message>
        <source>{model} was cut before, as {name} ({size}), and its files have changed since or are a copy. It is cut again; the earlier one can be removed in the library.</source>
        <translation>{model} 之前已切分为 {name}（{size}），其文件后来有改动或是副本。现在重新切分；之前的那个可以在模型库中移除。</translation>
    </message>
    <message>
        <source>{model} is cut already, but {count} files are damaged or missing; only those are cut again.</source>
        <translation>{model} 已经切分好，但有 {count} 个文件损坏或缺失；只重新切分这部分。</translation>
    </message>
    <message>
        <source>Repair it in the library; what is missing is downloaded.</source>
        <translation>请在模型库中修复；缺少的部分会重新下载。</translation>
    </message>
    <message>
        <source>Get the original back, then repair it in the library.</source>
        <translation>请先找回原文件，再到模型库中修复。</translation>
    </message>
    <message>
        <source>Install Strata again: the starter model comes with it.</source>
        <translation>请重新安装 Strata：入门模型会一起安装。</translation>
    </message>
    <message>
        <source>Join them first with llama-gguf-split, a tool of llama.cpp, or use the version with safetensors files.</source>
        <translation>请先用 llama.cpp 的 llama-gguf-split 工具合并，或使用带 safetensors 文件的版本。</translation>
    </message>
    <message>
        <source>Choose the folder of one of them.</source>
        <translation>请选择其中一个的文件夹。</translation>
    </message>
    <message>
        <source>Download the model again, or choose the folder that holds its files.</source>
        <translation>请重新下载模型，或选择包含其文件的文件夹。</translation>
    </message>
    <message>
        <source>Choose the original of the model, with safetensors files; or download one of these files with your browser and choose it here.</source>
        <translation>请选择带 safetensors 文件的原始模型；或用浏览器下载其中一个文件，再在这里选择它。</translation>
    </message>
    <message>
        <source>Repair it in the library.</source>
        <translation>请在模型库中修复它。</translation>
    </message>
    <message>
        <source>Choose another folder for models in the settings, or change its permissions.</source>
        <translation>请在设置里选择其他模型文件夹，或更改它的权限。</translation>
    </message>
    <message>
        <source>Choose one of them in the library, such as {name}</source>
        <translation>请在模型库中选择其中一个，例如 {name}</translation>
    </message>
    <message>
        <source>Continue it in the library first.</source>
        <translation>请先在模型库中继续切分。</translation>
    </message>
    <message>
        <source>The library shows what is there.</source>
        <translation>模型库会显示有哪些模型。</translation>
    </message>
    <message>
        <source>Free some space, or choose a folder on another drive in the settings.</source>
        <translation>请腾出一些空间，或在设置里选择其他硬盘上的文件夹。</translation>
    </message>
    <message>
        <source>Free some space, choose a folder on another drive in the settings, or let the original be deleted while it is cut.</source>
        <translation>请腾出一些空间、在设置里选择其他硬盘上的文件夹，或允许边切分边删除原文件。</translation>
    </message>
    <message>
        <source>Repair just this file; the others stay as they are.</source>
        <translation>只需修复这个文件；其他文件保持不变。</translation>
    </message>
    <message>
        <source>Repair just these files; the others stay as they are.</source>
        <translation>只需修复这些文件；其他文件保持不变。</translation>
    </message>
    <message>
        <source>One block of this model needs {need} of memory; {have} are allowed.</source>
        <translation>这个模型的一个块需要 {need} 内存；允许使用 {have}。</translation>
    </message>
    <message>
        <source>Allow more memory in the settings, or choose a smaller model.</source>
        <translation>请在设置里允许使用更多内存，或选择更小的模型。</translation>
    </message>
    <message>
        <source>Allow more memory in the settings.</source>
        <translation>请在设置里允许使用更多内存。</translation>
    </message>
    <message>
        <source>Allow enough memory in the settings to hold all of it.</source>
        <translation>请在设置里允许足够的内存来容纳整个模型。</translation>
    </message>
    <message>
        <source>This model has no chat template, so it can continue a text but not hold a conversation.</source>
        <translation>这个模型没有对话模板，只能续写文本，不能对话。</translation>
    </message>
    <message>
        <source>A conversation must end with a message of the user.</source>
        <translation>对话必须以用户的消息结尾。</translation>
    </message>
    <message>
        <source>The message is empty.</source>
        <translation>消息是空的。</translation>
    </message>
    <message>
        <source>Write something to send.</source>
        <translation>请写点内容再发送。</translation>
    </message>
    <message>
        <source>The model&apos;s chat template refuses this conversation: {reason}.</source>
        <translation>模型的对话模板不接受这段对话：{reason}。</translation>
    </message>
    <message>
        <source>{name} is {value}, but it must be {allowed}.</source>
        <translation>{name} 的值是 {value}，但必须满足：{allowed}。</translation>
    </message>
    <message>
        <source>This model has no tokenizer that can be read, so text cannot be turned into tokens.</source>
        <translation>这个模型没有可读取的分词器，无法把文本转换成词元。</translation>
    </message>
    <message>
        <source>This model has no tokenizer that can be read, so its tokens cannot be counted.</source>
        <translation>这个模型没有可读取的分词器，无法统计词元数。</translation>
    </message>
    <message>
        <source>The prompt is empty.</source>
        <translation>提示内容是空的。</translation>
    </message>
    <message>
        <source>Write something for the model to continue.</source>
        <translation>请写点内容让模型继续。</translation>
    </message>
    <message>
        <source>The conversation has {tokens} tokens; this model&apos;s context holds {limit}.</source>
        <translation>对话有 {tokens} 个词元，而这个模型的上下文只能容纳 {limit} 个。</translation>
    </message>
    <message>
        <source>The conversation has {tokens} tokens; there is room for {limit}.</source>
        <translation>对话有 {tokens} 个词元，而空间只够 {limit} 个。</translation>
    </message>
    <message>
        <source>Shorten it, start a new conversation, or allow a larger context.</source>
        <translation>请缩短它、开始新的对话，或允许更大的上下文。</translation>
    </message>
    <message>
        <source>There was not enough memory left to compute with this conversation.</source>
        <translation>剩余内存不够计算这段对话。</translation>
    </message>
    <message>
        <source>{model} produced numbers that are not finite ({cause_text}).</source>
        <translation>{model} 算出了非有限的数值（{cause_text}）。</translation>
    </message>
    <message>
        <source>float16 overflows in deep models</source>
        <translation>float16 在层数多的模型中会溢出</translation>
    </message>
    <message>
        <source>its weights may be damaged</source>
        <translation>它的权重可能已损坏</translation>
    </message>
    <message>
        <source>Verify the model, or choose a version of it in bfloat16.</source>
        <translation>请校验这个模型，或选择它的 bfloat16 版本。</translation>
    </message>
    <message>
        <source>No model is loaded.</source>
        <translation>没有加载模型。</translation>
    </message>
    <message>
        <source>This is an encoder-decoder model of type “{type}”{architecture}; Strata runs decoder-only language models.</source>
        <translation>这是类型为“{type}”的编码器-解码器模型{architecture}；Strata 只运行纯解码器语言模型。</translation>
    </message>
    <message>
        <source>Choose a chat or text-generation model.</source>
        <translation>请选择对话或文本生成模型。</translation>
    </message>
    <message>
        <source>{model} has no list of decoder layers to stream.</source>
        <translation>{model} 没有可以流式读取的解码层列表。</translation>
    </message>
    <message>
        <source>Choose another model; this one has a structure Strata does not know.</source>
        <translation>请选择其他模型；Strata 不认识这个模型的结构。</translation>
    </message>
    <message>
        <source>{model} has pickled weights, whose contents only the whole download tells.</source>
        <translation>{model} 的权重是 pickle 格式，只有全部下载后才知道内容。</translation>
    </message>
    <message>
        <source>Models of type “{type}” are not known to this version of Strata.</source>
        <translation>这个版本的 Strata 不认识类型为“{type}”的模型。</translation>
    </message>
    <message>
        <source>Check whether a newer version of Strata knows it, or choose another model.</source>
        <translation>请看看新版 Strata 是否支持，或选择其他模型。</translation>
    </message>
    <message>
        <source>{folder} has no {file}, so it is not a model folder.</source>
        <translation>{folder} 中没有 {file}，所以它不是模型文件夹。</translation>
    </message>
    <message>
        <source>{folder} holds only an adapter (LoRA) of {base}, not a whole model.</source>
        <translation>{folder} 只包含 {base} 的适配器（LoRA），不是完整的模型。</translation>
    </message>
    <message>
        <source>{folder} holds only an adapter (LoRA), not a whole model.</source>
        <translation>{folder} 只包含适配器（LoRA），不是完整的模型。</translation>
    </message>
    <message>
        <source>Use the base model{base}, or a version with the adapter merged into it.</source>
        <translation>请使用基础模型{base}，或已合并适配器的版本。</translation>
    </message>
    <message>
        <source>{file} in {folder} describes no model.</source>
        <translation>{folder} 中的 {file} 没有描述模型。</translation>
    </message>
    <message>
        <source>{file} in {folder} names no architecture, so it cannot be told what model this is.</source>
        <translation>{folder} 中的 {file} 没有写明架构，无法判断这是什么模型。</translation>
    </message>
    <message>
        <source>Use the original folder of the model; its config.json has an “architectures” entry.</source>
        <translation>请使用模型的原文件夹，其 config.json 中有“architectures”一项。</translation>
    </message>
    <message>
        <source>Choose the original of the model, in bfloat16 or float16.</source>
        <translation>请选择 bfloat16 或 float16 的原始模型。</translation>
    </message>
    <message>
        <source>{file} names no model type (architecture {architecture}).</source>
        <translation>{file} 没有写明模型类型（架构 {architecture}）。</translation>
    </message>
    <message>
        <source>Use the version of the model that was made for transformers.</source>
        <translation>请使用为 transformers 制作的版本。</translation>
    </message>
    <message>
        <source>A model of type “{type}” runs only with Python code from its own repository, and Strata does not run code that comes with a model.</source>
        <translation>类型为“{type}”的模型必须运行其仓库自带的 Python 代码，而 Strata 不运行模型附带的代码。</translation>
    </message>
    <message>
        <source>Choose a model that transformers supports by itself.</source>
        <translation>请选择 transformers 本身支持的模型。</translation>
    </message>
    <message>
        <source>{folder} holds an image model (diffusers); Strata runs language models.</source>
        <translation>{folder} 是图像模型（diffusers）；Strata 运行的是语言模型。</translation>
    </message>
    <message>
        <source>{folder} holds weights in their maker&apos;s own format, without a {file}.</source>
        <translation>{folder} 中的权重是制作者自己的格式，没有 {file}。</translation>
    </message>
    <message>
        <source>Use the version of the model that was made for transformers (often named “-hf”).</source>
        <translation>请使用为 transformers 制作的版本（名称常带“-hf”）。</translation>
    </message>
    <message>
        <source>{file} in {folder} is a web page (HTML).</source>
        <translation>{folder} 中的 {file} 其实是网页（HTML）。</translation>
    </message>
    <message>
        <source>{file} in {folder} is a git-lfs pointer.</source>
        <translation>{folder} 中的 {file} 只是 git-lfs 指针。</translation>
    </message>
    <message>
        <source>{file} in {folder} is damaged: it is not JSON.</source>
        <translation>{folder} 中的 {file} 已损坏：它不是 JSON。</translation>
    </message>
    <message>
        <source>Download this file again.</source>
        <translation>请重新下载这个文件。</translation>
    </message>
    <message>
        <source>{file} names neither a model type nor an architecture; this is not a language model.</source>
        <translation>{file} 既没有写明模型类型，也没有写明架构；这不是语言模型。</translation>
    </message>
    <message>
        <source>Choose a chat or text-generation model, as its hub page ships it.</source>
        <translation>请选择对话或文本生成模型，并使用其 Hub 页面提供的原样文件。</translation>
    </message>
    <message>
        <source>{folder} is empty.</source>
        <translation>{folder} 是空的。</translation>
    </message>
    <message>
        <source>{folder} is a model that Strata has already cut.</source>
        <translation>{folder} 是 Strata 已经切分好的模型。</translation>
    </message>
    <message>
        <source>Use it as it is.</source>
        <translation>直接使用即可。</translation>
    </message>
    <message>
        <source>No model was given.</source>
        <translation>没有指定模型。</translation>
    </message>
    <message>
        <source>There is no folder or file {place}.</source>
        <translation>没有名为 {place} 的文件夹或文件。</translation>
    </message>
    <message>
        <source>There is no folder {place}, and the hub cache on this machine does not hold that model.</source>
        <translation>没有文件夹 {place}，这台电脑的 Hub 缓存中也没有这个模型。</translation>
    </message>
    <message>
        <source>{file} is one file of a model.</source>
        <translation>{file} 只是模型中的一个文件。</translation>
    </message>
    <message>
        <source>The weights in {folder} are no longer there; they were cut into {model}.</source>
        <translation>{folder} 中的权重已不在；它们已被切分成 {model}。</translation>
    </message>
    <message>
        <source>Use that model: {model}</source>
        <translation>请使用那个模型：{model}</translation>
    </message>
    <message>
        <source>{model} is only partly downloaded.</source>
        <translation>{model} 只下载了一部分。</translation>
    </message>
    <message>
        <source>{file} is a web page (HTML), not weights.</source>
        <translation>{file} 是网页（HTML），不是权重。</translation>
    </message>
    <message>
        <source>{file} is a git-lfs pointer: the real file was never downloaded.</source>
        <translation>{file} 只是 git-lfs 指针：真正的文件从未下载。</translation>
    </message>
    <message>
        <source>{file} is not a model.</source>
        <translation>{file} 不是模型。</translation>
    </message>
    <message>
        <source>{file} ({size} bytes) is not a {wanted} file.</source>
        <translation>{file}（{size} 字节）不是 {wanted} 文件。</translation>
    </message>
    <message>
        <source>{file} ({size} bytes) is not a {wanted} file: it is a {found} file.</source>
        <translation>{file}（{size} 字节）不是 {wanted} 文件，而是 {found} 文件。</translation>
    </message>
    <message>
        <source>{file} is a web page (HTML), not weights: what was saved is an error or a login page.</source>
        <translation>{file} 是网页（HTML），不是权重：保存下来的是错误页或登录页。</translation>
    </message>
    <message>
        <source>A model behind a licence needs you to be logged in.</source>
        <translation>需要接受许可证的模型要求先登录。</translation>
    </message>
    <message>
        <source>{file} is a git-lfs pointer ({size} bytes): the real file was never downloaded.</source>
        <translation>{file} 只是 git-lfs 指针（{size} 字节）：真正的文件从未下载。</translation>
    </message>
    <message>
        <source>It stands for {size} bytes.</source>
        <translation>它代表 {size} 字节。</translation>
    </message>
    <message>
        <source>{file} is empty (0 bytes).</source>
        <translation>{file} 是空文件（0 字节）。</translation>
    </message>
    <message>
        <source>{file} cannot be read: {reason}.</source>
        <translation>无法读取 {file}：{reason}。</translation>
    </message>
    <message>
        <source>Check that the file is there and that you may read it.</source>
        <translation>请检查文件是否存在，以及您是否有权读取。</translation>
    </message>
    <message>
        <source>Check the drive it is on, then try again.</source>
        <translation>请检查它所在的硬盘，然后重试。</translation>
    </message>
    <message>
        <source>{folder} holds no weight files.</source>
        <translation>{folder} 中没有权重文件。</translation>
    </message>
    <message>
        <source>Download the model&apos;s .safetensors files into it.</source>
        <translation>请把模型的 .safetensors 文件下载到这里。</translation>
    </message>
    <message>
        <source>{file} names no weight files.</source>
        <translation>{file} 没有列出权重文件。</translation>
    </message>
    <message>
        <source>{folder} holds several weight files ({files}) and no index that says which belong together.</source>
        <translation>{folder} 中有多个权重文件（{files}），却没有说明哪些属于同一模型的索引。</translation>
    </message>
    <message>
        <source>Download the model again with its “.index.json” file, or keep only the files of one model.</source>
        <translation>请连同“.index.json”文件重新下载模型，或只保留一个模型的文件。</translation>
    </message>
    <message>
        <source>{count} of {total} weight files are missing in {folder}: {files} (known from {origin_text}).</source>
        <translation>{folder} 中缺少 {total} 个权重文件中的 {count} 个：{files}（依据：{origin_text}）。</translation>
    </message>
    <message>
        <source>their numbering</source>
        <translation>文件编号</translation>
    </message>
    <message>
        <source>{files} and {count} more</source>
        <translation>{files} 等，另有 {count} 个</translation>
    </message>
    <message>
        <source>Download the missing files, then try again.</source>
        <translation>请下载缺少的文件，然后重试。</translation>
    </message>
    <message>
        <source>The weights in {folder} are in a format Strata does not read ({file}).</source>
        <translation>{folder} 中的权重是 Strata 不能读取的格式（{file}）。</translation>
    </message>
    <message>
        <source>Use a version of the model with safetensors files.</source>
        <translation>请使用带 safetensors 文件的版本。</translation>
    </message>
    <message>
        <source>The weights in {folder} are GGUF files ({files}).</source>
        <translation>{folder} 中的权重是 GGUF 文件（{files}）。</translation>
    </message>
    <message>
        <source>{folder} holds its weights only in their maker&apos;s own format (consolidated…).</source>
        <translation>{folder} 中的权重只有制作者自己的格式（consolidated…）。</translation>
    </message>
    <message>
        <source>{file} is damaged.</source>
        <translation>{file} 已损坏。</translation>
    </message>
    <message>
        <source>{file} points outside of its folder ({target}).</source>
        <translation>{file} 指向了文件夹之外（{target}）。</translation>
    </message>
    <message>
        <source>Do not use this model.</source>
        <translation>请不要使用这个模型。</translation>
    </message>
    <message>
        <source>{file} is truncated: it should have {need} bytes and has {have}.</source>
        <translation>{file} 不完整：应有 {need} 字节，实有 {have} 字节。</translation>
    </message>
    <message>
        <source>{file} claims a header of {size}; it is damaged.</source>
        <translation>{file} 声称文件头有 {size}；它已损坏。</translation>
    </message>
    <message>
        <source>The header of {file} is damaged.</source>
        <translation>{file} 的文件头已损坏。</translation>
    </message>
    <message>
        <source>The header of {file} is damaged: {name} overlaps {other}.</source>
        <translation>{file} 的文件头已损坏：{name} 与 {other} 重叠。</translation>
    </message>
    <message>
        <source>The header of {file} is damaged or cut off.</source>
        <translation>{file} 的文件头已损坏或不完整。</translation>
    </message>
    <message>
        <source>config.json in {folder} contradicts itself: {reason}</source>
        <translation>{folder} 中的 config.json 自相矛盾：{reason}</translation>
    </message>
    <message>
        <source>{model} cannot be built from this config: {reason}</source>
        <translation>无法根据这份配置构建 {model}：{reason}</translation>
    </message>
    <message>
        <source>Download config.json again, or choose another model.</source>
        <translation>请重新下载 config.json，或选择其他模型。</translation>
    </message>
    <message>
        <source>Download config.json and the weight files again from the same revision.</source>
        <translation>请从同一修订版重新下载 config.json 和权重文件。</translation>
    </message>
    <message>
        <source>{count_text} of this checkpoint do not fit its config: {reason}.</source>
        <translation>这个检查点有 {count_text}与配置不符：{reason}。</translation>
    </message>
    <message>
        <source>This model reads text only; it cannot look at images.</source>
        <translation>此模型只读文字，不能看图片。</translation>
    </message>
    <message>
        <source>Remove the image, or choose a model that accepts images.</source>
        <translation>请移除图片，或选择能看图片的模型。</translation>
    </message>
    <message>
        <source>The image {name} cannot be read: {reason}.</source>
        <translation>无法读取图片 {name}：{reason}。</translation>
    </message>
    <message>
        <source>Choose another image.</source>
        <translation>请选择另一张图片。</translation>
    </message>
    <message>
        <source>The image {name} is empty.</source>
        <translation>图片 {name} 是空的。</translation>
    </message>
    <message>
        <source>The file {name} is no PNG, JPEG or WebP image.</source>
        <translation>文件 {name} 不是 PNG、JPEG 或 WebP 图片。</translation>
    </message>
    <message>
        <source>Choose another image, or save it as one of these.</source>
        <translation>请选择另一张图片，或将它另存为其中一种格式。</translation>
    </message>
    <message>
        <source>The image {name} has {pixels} million pixels; images of up to {most} million are read.</source>
        <translation>图片 {name} 有 {pixels} 百万像素；最多可读取 {most} 百万像素的图片。</translation>
    </message>
    <message>
        <source>Make it smaller, then choose it again.</source>
        <translation>请把它缩小，然后重新选择。</translation>
    </message>
    <message>
        <source>The image {name} is damaged or incomplete.</source>
        <translation>图片 {name} 已损坏或不完整。</translation>
    </message>
    <message>
        <source>Choose another image, or save it anew.</source>
        <translation>请选择另一张图片，或重新保存它。</translation>
    </message>
    <message>
        <source>The model&apos;s image processor refuses this conversation: {reason}.</source>
        <translation>模型的图像处理器拒绝了此对话：{reason}。</translation>
    </message>
    <message>
        <source>Choose another image, or start a new conversation.</source>
        <translation>请选择另一张图片，或开始新的对话。</translation>
    </message>
    <message>
        <source>The image processor of this model cannot be loaded, so it reads text only.</source>
        <translation>无法加载此模型的图像处理器，因此它只读文字。</translation>
    </message>
    <message>
        <source>Remove the image, or choose another version of the model.</source>
        <translation>请移除图片，或选择该模型的另一个版本。</translation>
    </message>
    <message>
        <source>No graphics card can be computed with.</source>
        <translation>没有可用于计算的显卡。</translation>
    </message>
    <message>
        <source>Restart the computer if its driver is new, then try again.</source>
        <translation>如果刚安装了驱动，请重启电脑后再试。</translation>
    </message>
    <message>
        <source>The graphics card does not compute.</source>
        <translation>显卡无法计算。</translation>
    </message>
    <message>
        <source>Update its driver, close other programs that use the card, then try again.</source>
        <translation>请更新显卡驱动、关闭其他占用显卡的程序，然后重试。</translation>
    </message>
    <message>
        <source>This checkpoint is quantised ({what}), in a way that this version of Strata does not run.</source>
        <translation>这个检查点是量化的（{what}），这个版本的 Strata 不能运行这种方式。</translation>
    </message>
    <message>
        <source>A model of type “{type}” runs only with Python code from its own repository, and you have not allowed this code.</source>
        <translation>类型为“{type}”的模型必须运行其仓库自带的 Python 代码，而您尚未允许这些代码。</translation>
    </message>
    <message>
        <source>The Python code this model needs is not in its folder{where}.</source>
        <translation>此模型所需的 Python 代码不在其文件夹中{where}。</translation>
    </message>
    <message>
        <source>Download the whole repository of the model, its .py files too.</source>
        <translation>请下载该模型的完整仓库，包括其中的 .py 文件。</translation>
    </message>
    <message>
        <source>The Python code of this model (type “{type}”) has no class that generates text.</source>
        <translation>此模型（类型“{type}”）的 Python 代码中没有能生成文本的类。</translation>
    </message>
    <message>
        <source>{count} tensor</source>
        <translation>{count} 个张量</translation>
    </message>
    <message>
        <source>{count} tensors</source>
        <translation>{count} 个张量</translation>
    </message>
    <message>
        <source>{count_text} of the model are not in this checkpoint: {names}.</source>
        <translation>这个检查点缺少模型的 {count_text}：{names}。</translation>
    </message>
    <message>
        <source>Download the model again; if that does not help, this version of Strata does not know its format.</source>
        <translation>请重新下载模型；如果仍不行，就是这个版本的 Strata 不认识它的格式。</translation>
    </message>
    <message>
        <source>{file} became shorter while it was read.</source>
        <translation>{file} 在读取过程中变短了。</translation>
    </message>
    <message>
        <source>Do not change a model while it is being cut; try again.</source>
        <translation>切分期间请不要改动模型；请重试。</translation>
    </message>
    <message>
        <source>{name} is stored as {dtype}, which Strata does not run.</source>
        <translation>{name} 以 {dtype} 存储，Strata 不支持。</translation>
    </message>
    <message>
        <source>{name} in {file} is stored as {dtype}, which Strata does not run.</source>
        <translation>{file} 中的 {name} 以 {dtype} 存储，Strata 不支持。</translation>
    </message>
    <message>
        <source>Choose another version of the model.</source>
        <translation>请选择模型的其他版本。</translation>
    </message>
    <message>
        <source>{file} holds no named tensors.</source>
        <translation>{file} 中没有带名称的张量。</translation>
    </message>
    <message>
        <source>Use a version with safetensors files.</source>
        <translation>请使用带 safetensors 文件的版本。</translation>
    </message>
    <message>
        <source>{file} wants to run code when it is opened, so it was not opened.</source>
        <translation>{file} 打开时要运行代码，所以没有打开它。</translation>
    </message>
    <message>
        <source>The metadata of {file} do not describe a model that transformers can build.</source>
        <translation>{file} 的元数据描述的不是 transformers 能构建的模型。</translation>
    </message>
    <message>
        <source>Use another conversion of the model, or its version with safetensors files.</source>
        <translation>请使用模型的其他转换版，或带 safetensors 文件的版本。</translation>
    </message>
    <message>
        <source>The tokenizer inside {file} is of a kind that transformers does not convert.</source>
        <translation>{file} 中的分词器是 transformers 不能转换的类型。</translation>
    </message>
    <message>
        <source>The starter model is not installed.</source>
        <translation>入门模型没有安装。</translation>
    </message>
    <message>
        <source>{name} is a part of Strata.</source>
        <translation>{name} 是 Strata 的一部分。</translation>
    </message>
    <message>
        <source>It goes when Strata is uninstalled.</source>
        <translation>卸载 Strata 时它会一起移除。</translation>
    </message>
    <message>
        <source>{file} is one of {count} parts of a model.</source>
        <translation>{file} 是模型 {count} 个部分之一。</translation>
    </message>
    <message>
        <source>{file} holds no model: it names no architecture or no tensors.</source>
        <translation>{file} 中没有模型：缺少架构或张量。</translation>
    </message>
    <message>
        <source>Use another file.</source>
        <translation>请使用其他文件。</translation>
    </message>
    <message>
        <source>GGUF files of architecture “{architecture}” are not known to this version of Strata.</source>
        <translation>这个版本的 Strata 不认识架构为“{architecture}”的 GGUF 文件。</translation>
    </message>
    <message>
        <source>Use the version of the model with safetensors files.</source>
        <translation>请使用带 safetensors 文件的版本。</translation>
    </message>
    <message>
        <source>This is GGUF version {version}; Strata reads versions 2 and 3.</source>
        <translation>这是 GGUF 第 {version} 版；Strata 读取第 2 和第 3 版。</translation>
    </message>
    <message>
        <source>Use a newer conversion of the model.</source>
        <translation>请使用较新的转换版。</translation>
    </message>
    <message>
        <source>{name} has a GGUF number format (type {type}) that is not known to this version of Strata.</source>
        <translation>{name} 使用了这个版本的 Strata 不认识的 GGUF 数值格式（类型 {type}）。</translation>
    </message>
    <message>
        <source>Use another quantisation of the model.</source>
        <translation>请使用模型的其他量化版本。</translation>
    </message>
    <message>
        <source>“{name}” is not a name on a hub.</source>
        <translation>“{name}”不是 Hub 上的名称。</translation>
    </message>
    <message>
        <source>Write it as owner/name, or owner/name@revision.</source>
        <translation>请写成 owner/name 或 owner/name@revision。</translation>
    </message>
    <message>
        <source>Write it as owner/name.</source>
        <translation>请写成 owner/name。</translation>
    </message>
    <message>
        <source>“{address}” is not the address of a hub.</source>
        <translation>“{address}”不是 Hub 的地址。</translation>
    </message>
    <message>
        <source>Write it like https://huggingface.co</source>
        <translation>请写成类似 https://huggingface.co 的形式</translation>
    </message>
    <message>
        <source>Downloading and cutting {model} needs {need} ({size} and {floor} that stay free); {have} are free on the drive of {folder}.</source>
        <translation>下载并切分 {model} 需要 {need}（{size}，另外保留 {floor} 空闲）；{folder} 所在硬盘剩余 {have}。</translation>
    </message>
    <message>
        <source>Trying again in {delay_text}.</source>
        <translation>{delay_text}后重试。</translation>
    </message>
    <message>
        <source>Try again in {delay_text}.</source>
        <translation>请在 {delay_text}后重试。</translation>
    </message>
    <message>
        <source>{seconds} s</source>
        <translation>{seconds} 秒</translation>
    </message>
    <message>
        <source>{minutes} min</source>
        <translation>{minutes} 分钟</translation>
    </message>
    <message>
        <source>{hours} h {minutes} min</source>
        <translation>{hours} 小时 {minutes} 分钟</translation>
    </message>
    <message>
        <source>{days} d {hours} h</source>
        <translation>{days} 天 {hours} 小时</translation>
    </message>
    <message>
        <source>Paused: {have} are free on the drive of {folder}, and {floor} stay free.</source>
        <translation>已暂停：{folder} 所在硬盘剩余 {have}，需保留 {floor} 空闲。</translation>
    </message>
    <message>
        <source>Paused: the drive is full.</source>
        <translation>已暂停：硬盘已满。</translation>
    </message>
    <message>
        <source>It goes on when there is room.</source>
        <translation>有空间后会继续。</translation>
    </message>
    <message>
        <source>{file} arrived damaged, so this one file is fetched again.</source>
        <translation>{file} 传输时损坏，因此只重新下载这个文件。</translation>
    </message>
    <message>
        <source>The hub sent nothing.</source>
        <translation>Hub 没有返回任何内容。</translation>
    </message>
    <message>
        <source>Try again later; what is already there is kept.</source>
        <translation>请稍后重试；已有的内容会保留。</translation>
    </message>
    <message>
        <source>{file} arrives damaged: {count} times it was not what the hub says it is.</source>
        <translation>{file} 传输损坏：{count} 次与 Hub 公布的内容不符。</translation>
    </message>
    <message>
        <source>Try another network or mirror; the files that arrived whole are kept.</source>
        <translation>请换一个网络或镜像；已完整下载的文件会保留。</translation>
    </message>
    <message>
        <source>{file} of {model} is too big for what it should be.</source>
        <translation>{model} 的 {file} 大得不合常理。</translation>
    </message>
    <message>
        <source>Choose another model.</source>
        <translation>请选择其他模型。</translation>
    </message>
    <message>
        <source>The hub cache holds {count} revisions of {model}: {names}.</source>
        <translation>Hub 缓存中有 {model} 的 {count} 个修订版：{names}。</translation>
    </message>
    <message>
        <source>The hub cache holds no complete download of {model} at “{revision}”.</source>
        <translation>Hub 缓存中没有 {model} 在“{revision}”的完整下载。</translation>
    </message>
    <message>
        <source>The connection to {host} broke off.</source>
        <translation>与 {host} 的连接中断了。</translation>
    </message>
    <message>
        <source>The hub answered with an error ({status}).</source>
        <translation>Hub 返回了错误（{status}）。</translation>
    </message>
    <message>
        <source>What answers at {address} is not a model hub.</source>
        <translation>{address} 处应答的不是 Hub。</translation>
    </message>
    <message>
        <source>Check its address; if this network has a login page, open it in a browser first.</source>
        <translation>请检查地址；如果这个网络有登录页，请先在浏览器中打开。</translation>
    </message>
    <message>
        <source>The licence of {model} is not accepted yet for your access token, or the request still waits.</source>
        <translation>您的访问令牌尚未接受 {model} 的许可证，或申请仍在等待。</translation>
    </message>
    <message>
        <source>Accept it on {page}, then try again.</source>
        <translation>请在 {page} 上接受许可证，然后重试。</translation>
    </message>
    <message>
        <source>{model} is given only to those who accept its licence.</source>
        <translation>只有接受许可证的人才能获得 {model}。</translation>
    </message>
    <message>
        <source>Accept it on {page} and give your access token.</source>
        <translation>请在 {page} 上接受许可证，并填写您的访问令牌。</translation>
    </message>
    <message>
        <source>The hub has a problem at the moment ({status}).</source>
        <translation>Hub 目前有问题（{status}）。</translation>
    </message>
    <message>
        <source>No secure connection to {host} could be made.</source>
        <translation>无法与 {host} 建立安全连接。</translation>
    </message>
    <message>
        <source>The hub&apos;s tools are switched to offline mode on this computer (HF_HUB_OFFLINE).</source>
        <translation>这台电脑上的 Hub 工具处于离线模式（HF_HUB_OFFLINE）。</translation>
    </message>
    <message>
        <source>Take that variable away, then try again.</source>
        <translation>请移除这个环境变量，然后重试。</translation>
    </message>
    <message>
        <source>The proxy did not let the connection through.</source>
        <translation>代理没有放行这个连接。</translation>
    </message>
    <message>
        <source>Check the proxy&apos;s address and password.</source>
        <translation>请检查代理的地址和密码。</translation>
    </message>
    <message>
        <source>The address {host} cannot be found.</source>
        <translation>找不到地址 {host}。</translation>
    </message>
    <message>
        <source>Check that this computer is online, and the address of the hub.</source>
        <translation>请检查这台电脑是否联网，以及 Hub 的地址。</translation>
    </message>
    <message>
        <source>This computer is offline.</source>
        <translation>这台电脑没有联网。</translation>
    </message>
    <message>
        <source>Connect it, then try again.</source>
        <translation>请联网后重试。</translation>
    </message>
    <message>
        <source>{host} does not answer.</source>
        <translation>{host} 没有应答。</translation>
    </message>
    <message>
        <source>{host} refuses the connection.</source>
        <translation>{host} 拒绝连接。</translation>
    </message>
    <message>
        <source>Check the address of the hub, and the proxy.</source>
        <translation>请检查 Hub 的地址和代理。</translation>
    </message>
    <message>
        <source>{model} has no such revision.</source>
        <translation>{model} 没有这个修订版。</translation>
    </message>
    <message>
        <source>See which there are on {page}</source>
        <translation>请在 {page} 查看有哪些</translation>
    </message>
    <message>
        <source>A file of {model} is not on the hub.</source>
        <translation>{model} 的一个文件不在 Hub 上。</translation>
    </message>
    <message>
        <source>Look at its page: {page}</source>
        <translation>请查看它的页面：{page}</translation>
    </message>
    <message>
        <source>The hub has disabled {model}.</source>
        <translation>Hub 已停用 {model}。</translation>
    </message>
    <message>
        <source>The hub&apos;s storage refused a file of {model} ({status}).</source>
        <translation>Hub 的存储拒绝提供 {model} 的一个文件（{status}）。</translation>
    </message>
    <message>
        <source>The hub does not accept this access token.</source>
        <translation>Hub 不接受这个访问令牌。</translation>
    </message>
    <message>
        <source>Make a new one on {page} and enter it.</source>
        <translation>请在 {page} 上新建一个并填写。</translation>
    </message>
    <message>
        <source>There is no {model} on the hub.</source>
        <translation>Hub 上没有 {model}。</translation>
    </message>
    <message>
        <source>There is no such model on the hub.</source>
        <translation>Hub 上没有这个模型。</translation>
    </message>
    <message>
        <source>Check how it is written.</source>
        <translation>请检查拼写。</translation>
    </message>
    <message>
        <source>If it is private, give an access token.</source>
        <translation>如果它是私有的，请填写访问令牌。</translation>
    </message>
    <message>
        <source>The hub does not let this access token read {model}.</source>
        <translation>Hub 不允许这个访问令牌读取 {model}。</translation>
    </message>
    <message>
        <source>The hub does not show {model}.</source>
        <translation>Hub 不显示 {model}。</translation>
    </message>
    <message>
        <source>The hub has had too many requests from here.</source>
        <translation>Hub 收到来自这里的请求过多。</translation>
    </message>
    <message>
        <source>The certificate shown for {host} is not trusted: something between here and the hub (a company&apos;s filter, a virus scanner) reads the connection, or this computer&apos;s clock is wrong.</source>
        <translation>{host} 出示的证书不可信：这里与 Hub 之间有程序（公司的过滤器、杀毒软件）在读取连接，或这台电脑的时钟不准。</translation>
    </message>
    <message>
        <source>Add that filter&apos;s certificate to the system&apos;s trusted ones, or use another network.</source>
        <translation>请把该过滤器的证书加入系统信任的证书，或换一个网络。</translation>
    </message>
    <message>
        <source>{file} of {model} is not a safetensors file, although it is called one.</source>
        <translation>{model} 的 {file} 名为 safetensors 文件，其实不是。</translation>
    </message>
    <message>
        <source>Choose another revision of the model, or another model.</source>
        <translation>请选择模型的其他修订版，或其他模型。</translation>
    </message>
    <message>
        <source>{model} holds its weights as GGUF files only.</source>
        <translation>{model} 只有 GGUF 格式的权重。</translation>
    </message>
    <message>
        <source>It was not cut from safetensors files of a hub.</source>
        <translation>它不是由 Hub 的 safetensors 文件切分而来。</translation>
    </message>
    <message>
        <source>Cut it again from its original.</source>
        <translation>请用原文件重新切分。</translation>
    </message>
    <message>
        <source>The description of the model in {folder} cannot be read.</source>
        <translation>无法读取 {folder} 中的模型描述。</translation>
    </message>
    <message>
        <source>Cut the model again from its original.</source>
        <translation>请用原文件重新切分这个模型。</translation>
    </message>
    <message>
        <source>config.json in {folder} cannot be read.</source>
        <translation>无法读取 {folder} 中的 config.json。</translation>
    </message>
    <message>
        <source>Models cannot be written to {folder}: {reason}.</source>
        <translation>无法把模型写入 {folder}：{reason}。</translation>
    </message>
    <message>
        <source>“{name}” could be any of {names}.</source>
        <translation>“{name}”可能是 {names} 中的任何一个。</translation>
    </message>
    <message>
        <source>{model} is only partly cut.</source>
        <translation>{model} 只切分了一部分。</translation>
    </message>
    <message>
        <source>The description of {model} is damaged.</source>
        <translation>{model} 的描述已损坏。</translation>
    </message>
    <message>
        <source>Remove it and cut it again from its original.</source>
        <translation>请移除它，再用原文件重新切分。</translation>
    </message>
    <message>
        <source>There is no model “{name}” in {folder}.</source>
        <translation>{folder} 中没有模型“{name}”。</translation>
    </message>
    <message>
        <source>The drive of {folder} is too full to be measured: {have} are free.</source>
        <translation>{folder} 所在硬盘太满，无法测速：剩余 {have}。</translation>
    </message>
    <message>
        <source>Free some space; {need} are enough.</source>
        <translation>请腾出一些空间；{need} 就够了。</translation>
    </message>
    <message>
        <source>There is no folder {folder}.</source>
        <translation>没有文件夹 {folder}。</translation>
    </message>
    <message>
        <source>Choose a folder that is there.</source>
        <translation>请选择一个存在的文件夹。</translation>
    </message>
    <message>
        <source>New models go to {folder}.</source>
        <translation>新模型存放在 {folder}。</translation>
    </message>
    <message>
        <source>Choose another folder for them first.</source>
        <translation>请先为新模型选择另一个文件夹。</translation>
    </message>
    <message>
        <source>The folder of models {folder} is on a drive that is not connected.</source>
        <translation>模型文件夹 {folder} 在一块未连接的硬盘上。</translation>
    </message>
    <message>
        <source>Connect the drive, or choose another folder for new models.</source>
        <translation>请连接该硬盘，或为新模型选择另一个文件夹。</translation>
    </message>
    <message>
        <source>{model} ({size}) is in {folder}, on a drive that is not connected.</source>
        <translation>{model}（{size}）在 {folder} 中，而该硬盘未连接。</translation>
    </message>
    <message>
        <source>Connect the drive and try again.</source>
        <translation>请连接该硬盘后重试。</translation>
    </message>
    <message>
        <source>{model} is in {folder} already.</source>
        <translation>{model} 已经在 {folder} 中。</translation>
    </message>
    <message>
        <source>Choose another folder.</source>
        <translation>请选择另一个文件夹。</translation>
    </message>
    <message>
        <source>Finish it first, then move it.</source>
        <translation>请先完成它，再移动。</translation>
    </message>
    <message>
        <source>{folder} is inside the model itself.</source>
        <translation>{folder} 就在模型自身之内。</translation>
    </message>
    <message>
        <source>There is another copy of {model} in {folder}.</source>
        <translation>{folder} 中已有 {model} 的另一份副本。</translation>
    </message>
    <message>
        <source>Remove one of the two first.</source>
        <translation>请先移除其中一份。</translation>
    </message>
    <message>
        <source>Moving {model} needs {need} ({bytes} and {floor} that stay free); {have} are free on the drive of {place}.</source>
        <translation>移动 {model} 需要 {need}（{bytes}，另外保留 {floor} 空闲）；{place} 所在硬盘剩余 {have}。</translation>
    </message>
    <message>
        <source>Free some space there, or choose another folder. Nothing was removed, and what is already copied is kept.</source>
        <translation>请在那里腾出一些空间，或选择另一个文件夹。没有移除任何内容，已复制的部分会保留。</translation>
    </message>
    <message>
        <source>{file} could not be read back from {folder} as it was written.</source>
        <translation>{file} 从 {folder} 读回的内容与写入的不一致。</translation>
    </message>
    <message>
        <source>Check that drive, or choose another one. Nothing was removed.</source>
        <translation>请检查该硬盘，或选择另一块。没有移除任何内容。</translation>
    </message>
    <message>
        <source>{file} of {model} is damaged where it is, so it cannot be moved.</source>
        <translation>{model} 的 {file} 在原处已损坏，因此无法移动。</translation>
    </message>
    <message>
        <source>{model} is in {folder} now, but its old copy in {place} cannot be removed.</source>
        <translation>{model} 现在已在 {folder} 中，但 {place} 中的旧副本无法移除。</translation>
    </message>
    <message>
        <source>Close what uses it, then move the model again: only the removal is left.</source>
        <translation>请关闭正在使用它的程序，然后再次移动：只差移除旧副本。</translation>
    </message>
    <message>
        <source>Check that its drive is connected, then go on. Nothing was removed.</source>
        <translation>请检查其硬盘是否已连接，然后继续。没有移除任何内容。</translation>
    </message>
    <message>
        <source>{model} is being worked on by another process.</source>
        <translation>另一个进程正在处理 {model}。</translation>
    </message>
    <message>
        <source>Wait until it has finished, or cancel it.</source>
        <translation>请等它完成，或取消它。</translation>
    </message>
    <message>
        <source>Cutting {model} needs {need} ({size} and {floor} that stay free); {have} are free on the drive of {folder}.</source>
        <translation>切分 {model} 需要 {need}（{size}，另外保留 {floor} 空闲）；{folder} 所在硬盘剩余 {have}。</translation>
    </message>
    <message>
        <source>What is already there is kept.</source>
        <translation>已有的内容会保留。</translation>
    </message>
    <message>
        <source>What is already cut is kept.</source>
        <translation>已切分的部分会保留。</translation>
    </message>
    <message>
        <source>{file} was already deleted, and a block that was cut from it is missing or damaged.</source>
        <translation>{file} 已删除，而由它切出的一个块缺失或损坏。</translation>
    </message>
    <message>
        <source>Download the model again and split it anew; what is left was kept.</source>
        <translation>请重新下载模型并重新切分；剩余的部分已保留。</translation>
    </message>
    <message>
        <source>{file} could not be read back as it was written; what is left of the original was kept.</source>
        <translation>{file} 读回的内容与写入的不一致；原文件剩余的部分已保留。</translation>
    </message>
    <message>
        <source>Check the drive, then split again.</source>
        <translation>请检查硬盘，然后重新切分。</translation>
    </message>
    <message>
        <source>The starter model&apos;s file belongs to its package, so it is not deleted.</source>
        <translation>入门模型的文件属于它的软件包，所以不会删除。</translation>
    </message>
    <message>
        <source>{model} or the engine has changed since it was partly cut, so it is cut anew.</source>
        <translation>{model} 或引擎在切分到一半后发生了变化，因此重新切分。</translation>
    </message>
    <message>
        <source>{model} has changed since it was partly cut, so it is cut anew.</source>
        <translation>{model} 在切分到一半后发生了变化，因此重新切分。</translation>
    </message>
    <message>
        <source>1 file is damaged or missing in {model}: {files_text}.</source>
        <translation>{model} 中有 1 个文件损坏或缺失：{files_text}。</translation>
    </message>
    <message>
        <source>{count} files are damaged or missing in {model}: {files_text}.</source>
        <translation>{model} 中有 {count} 个文件损坏或缺失：{files_text}。</translation>
    </message>
    <message>
        <source>It cannot be repaired: {cause_text}</source>
        <translation>无法修复：{cause_text}</translation>
    </message>
    <message>
        <source>the original in {folder} has changed since it was cut.</source>
        <translation>{folder} 中的原文件在切分后发生了变化。</translation>
    </message>
    <message>
        <source>{model} was cut with transformers {old}, and the {new} here builds this model differently ({name} is gone).</source>
        <translation>{model} 是用 transformers {old} 切分的，而这里的 {new} 构建这个模型的方式不同（缺少 {name}）。</translation>
    </message>
    <message>
        <source>One block of this model and its conversation need {need} of memory; {have} are allowed.</source>
        <translation>这个模型的一个块加上对话需要 {need} 内存；允许使用 {have}。</translation>
    </message>
    <message>
        <source>One block of this model and the experts one token uses need {need} of memory; {have} are allowed.</source>
        <translation>这个模型的一个块加上一个词元要用的专家需要 {need} 内存；允许使用 {have}。</translation>
    </message>
    <message>
        <source>One block of this model, the experts one token uses and its conversation need {need} of memory; {have} are allowed.</source>
        <translation>这个模型的一个块、一个词元要用的专家再加上对话需要 {need} 内存；允许使用 {have}。</translation>
    </message>
    <message>
        <source>Reading the experts of this model needs {need} of main memory, and {have} are allowed.</source>
        <translation>读取这个模型的专家需要 {need} 主内存，而允许使用的是 {have}。</translation>
    </message>
    <message>
        <source>Reading this model ahead needs {need} of main memory, and {have} are allowed.</source>
        <translation>预读这个模型需要 {need} 主内存，而允许使用的是 {have}。</translation>
    </message>
    <message>
        <source>This model uses the weight {name} while it is not in memory, so it cannot be read from the disk.</source>
        <translation>这个模型会在权重 {name} 不在内存中时使用它，所以不能从硬盘读取。</translation>
    </message>
    <message>
        <source>The block {block} of {model} cannot be read from the disk.</source>
        <translation>无法从硬盘读取 {model} 的块 {block}。</translation>
    </message>
    <message>
        <source>Verify the model, and repair it from its original if it is damaged.</source>
        <translation>请校验模型；如果已损坏，请用原文件修复。</translation>
    </message>
    <message>
        <source>This model is in use at the moment.</source>
        <translation>这个模型正在使用中。</translation>
    </message>
    <message>
        <source>Stop its answer, or wait for it, and try again.</source>
        <translation>请停止它的回答或等待完成，然后重试。</translation>
    </message>
    <message>
        <source>Something went wrong inside the engine ({reason}).</source>
        <translation>引擎内部出错了（{reason}）。</translation>
    </message>
    <message>
        <source>Try again; if it happens again, please report it with the details.</source>
        <translation>请重试；如果再次发生，请附上详细信息报告。</translation>
    </message>
    <message>
        <source>The engine has no “{method}”.</source>
        <translation>引擎没有“{method}”功能。</translation>
    </message>
    <message>
        <source>There is not enough memory free to load {model} as planned.</source>
        <translation>剩余内存不够按计划加载 {model}。</translation>
    </message>
    <message>
        <source>A file of {model} cannot be read: {reason}.</source>
        <translation>无法读取 {model} 的一个文件：{reason}。</translation>
    </message>
    <message>
        <source>Verify the model, and check that its folder can be read.</source>
        <translation>请校验这个模型，并检查它的文件夹是否可读。</translation>
    </message>
    <message>
        <source>The architecture {architecture} is not known to this version of Strata (model type “{type}”).</source>
        <translation>这个版本的 Strata 不认识架构 {architecture}（模型类型“{type}”）。</translation>
    </message>
    <message>
        <source>This model has no tokenizer files, so text cannot be turned into tokens.</source>
        <translation>这个模型没有分词器文件，无法把文本转换成词元。</translation>
    </message>
    <message>
        <source>{file} cannot be written: {reason}.</source>
        <translation>无法写入 {file}：{reason}。</translation>
    </message>
    <message>
        <source>Choose another file.</source>
        <translation>请选择其他文件。</translation>
    </message>
    <message>
        <source>{model} is cut already, but 1 file is damaged or missing; only that is cut again.</source>
        <translation>{model} 已经切分好，但有 1 个文件损坏或缺失；只重新切分这部分。</translation>
    </message>
    <message>
        <source>1 file is damaged or missing in {model}, and part of the original was deleted.</source>
        <translation>{model} 中有 1 个文件损坏或缺失，而原文件已删除一部分。</translation>
    </message>
    <message>
        <source>{count} files are damaged or missing in {model}, and part of the original was deleted.</source>
        <translation>{model} 中有 {count} 个文件损坏或缺失，而原文件已删除一部分。</translation>
    </message>
    <message>
        <source>The conversations in {file} cannot be opened.</source>
        <translation>无法打开 {file} 中的对话。</translation>
    </message>
    <message>
        <source>Check that the folder can be written and the drive is not full.</source>
        <translation>请检查文件夹是否可写、硬盘是否已满。</translation>
    </message>
    <message>
        <source>Another program is using the conversations in {file}.</source>
        <translation>另一个程序正在使用 {file} 中的对话。</translation>
    </message>
    <message>
        <source>Close it, or wait until a backup or a synchronisation has ended, and try again.</source>
        <translation>请关闭该程序，或等备份或同步结束后再试。</translation>
    </message>
    <message>
        <source>You may not write to the conversations in {file}.</source>
        <translation>您没有写入 {file} 中对话的权限。</translation>
    </message>
    <message>
        <source>Allow yourself to write to this file and its folder, and try again.</source>
        <translation>请为自己授予该文件及其文件夹的写入权限，然后重试。</translation>
    </message>
    <message>
        <source>The conversations in {file} cannot be opened: their drive is full.</source>
        <translation>无法打开 {file} 中的对话：其所在磁盘已满。</translation>
    </message>
    <message>
        <source>Free some space on this drive, and try again.</source>
        <translation>请在该磁盘上腾出一些空间，然后重试。</translation>
    </message>
    <message>
        <source>The conversations in {file} were written by a newer Strata (format {format}, this one knows {known}).</source>
        <translation>{file} 中的对话由较新的 Strata 写入（格式 {format}，这个版本支持到 {known}）。</translation>
    </message>
    <message>
        <source>Install the newer version again; nothing was changed.</source>
        <translation>请重新安装较新的版本；没有任何改动。</translation>
    </message>
    <message>
        <source>This file is not an export of Strata&apos;s conversations.</source>
        <translation>这个文件不是 Strata 导出的对话。</translation>
    </message>
    <message>
        <source>Choose a .json file that Strata exported.</source>
        <translation>请选择 Strata 导出的 .json 文件。</translation>
    </message>
    <message>
        <source>This export has format {format}; this Strata reads up to {known}.</source>
        <translation>这份导出的格式是 {format}；这个 Strata 最多支持到 {known}。</translation>
    </message>
    <message>
        <source>Update Strata, then import it again.</source>
        <translation>请更新 Strata，然后重新导入。</translation>
    </message>
    <message>
        <source>This conversation is gone.</source>
        <translation>这个对话已不存在。</translation>
    </message>
</context>
<context>
    <name>EngineDeath</name>
    <message>
        <source>The engine could not be started.</source>
        <translation>引擎无法启动。</translation>
    </message>
    <message>
        <source>The engine was restarted.</source>
        <translation>引擎已重新启动。</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly ({how}) while computing layer {block} of {blocks}.</source>
        <translation>引擎在计算第 {block} / {blocks} 层时意外停止（{how}）。</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly ({how}) after token {token} of an answer.</source>
        <translation>引擎在回答的第 {token} 个词元之后意外停止（{how}）。</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly ({how}) while working on block {block} of {blocks}.</source>
        <translation>引擎在处理第 {block} / {blocks} 块时意外停止（{how}）。</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly ({how}) while loading a model.</source>
        <translation>引擎在加载模型时意外停止（{how}）。</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly ({how}) while reading a question.</source>
        <translation>引擎在读取问题时意外停止（{how}）。</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly ({how}).</source>
        <translation>引擎意外停止（{how}）。</translation>
    </message>
    <message>
        <source>exit code {number}</source>
        <translation>退出代码 {number}</translation>
    </message>
    <message>
        <source>killed, signal {number}</source>
        <translation>被终止，信号 {number}</translation>
    </message>
    <message>
        <source>ended from outside, signal {number}</source>
        <translation>被外部结束，信号 {number}</translation>
    </message>
    <message>
        <source>aborted, signal {number}</source>
        <translation>已中止，信号 {number}</translation>
    </message>
    <message>
        <source>crashed, signal {number}</source>
        <translation>已崩溃，信号 {number}</translation>
    </message>
    <message>
        <source>signal {number}</source>
        <translation>信号 {number}</translation>
    </message>
    <message>
        <source>The computer may have run out of memory: close other programs, or let the model use less of it.</source>
        <translation>电脑可能内存不足：请关闭其他程序，或让模型少用一些内存。</translation>
    </message>
    <message>
        <source>If this happens again, please report it with the details.</source>
        <translation>如果再次发生，请附上详细信息报告给我们。</translation>
    </message>
</context>
<context>
    <name>EngineNotice</name>
    <message>
        <source>The engine stopped and could not be started again.</source>
        <translation>引擎已停止，且无法再次启动。</translation>
    </message>
    <message>
        <source>Start the engine</source>
        <translation>启动引擎</translation>
    </message>
    <message>
        <source>The engine stopped unexpectedly and is being started again.</source>
        <translation>引擎意外停止，正在重新启动。</translation>
    </message>
    <message>
        <source>Your chats are safe. What was under way goes on from where it was.</source>
        <translation>您的对话是安全的。进行中的工作将从中断处继续。</translation>
    </message>
    <message>
        <source>The engine is running again.</source>
        <translation>引擎已恢复运行。</translation>
    </message>
    <message>
        <source>What was under way goes on from where it was.</source>
        <translation>进行中的工作将从中断处继续。</translation>
    </message>
    <message>
        <source>Starting the engine…</source>
        <translation>正在启动引擎…</translation>
    </message>
</context>
<context>
    <name>ErrorView</name>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>The answer failed.</source>
        <translation>回答失败。</translation>
    </message>
</context>
<context>
    <name>ExchangeDeeds</name>
    <message>
        <source>You</source>
        <translation>您</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>File</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Import chats</source>
        <translation>导入对话</translation>
    </message>
    <message>
        <source>Export</source>
        <translation>导出</translation>
    </message>
    <message>
        <source>Exported to {name}</source>
        <translation>已导出到 {name}</translation>
    </message>
    <message>
        <source>Not exported: {reason}</source>
        <translation>未导出：{reason}</translation>
    </message>
    <message numerus="yes">
        <source>%n chats imported</source>
        <translation>
            <numerusform>已导入 %n 个对话</numerusform>
        </translation>
    </message>
    <message>
        <source>Not imported: {reason}</source>
        <translation>未导入：{reason}</translation>
    </message>
</context>
<context>
    <name>FileChips</name>
    <message>
        <source>Attached files</source>
        <translation>附件</translation>
    </message>
    <message>
        <source>{name}, {count} characters</source>
        <translation>{name}，{count} 个字符</translation>
    </message>
    <message>
        <source>Remove {name}</source>
        <translation>移除 {name}</translation>
    </message>
</context>
<context>
    <name>FilesView</name>
    <message>
        <source>{name}, {count} characters</source>
        <translation>{name}，{count} 个字符</translation>
    </message>
</context>
<context>
    <name>FindBar</name>
    <message>
        <source>Find in this chat</source>
        <translation>在此对话中查找</translation>
    </message>
    <message>
        <source>The message before</source>
        <translation>上一条消息</translation>
    </message>
    <message>
        <source>The next message</source>
        <translation>下一条消息</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message numerus="yes">
        <source>{place} of %n messages</source>
        <translation>
            <numerusform>第 {place} / %n 条消息</numerusform>
        </translation>
    </message>
    <message>
        <source>Not found</source>
        <translation>未找到</translation>
    </message>
</context>
<context>
    <name>FolderControl</name>
    <message>
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <source>Choose the folder of models</source>
        <translation>选择模型文件夹</translation>
    </message>
    <message>
        <source>Use default</source>
        <translation>使用默认</translation>
    </message>
</context>
<context>
    <name>FolderDeeds</name>
    <message>
        <source>New folder</source>
        <translation>新建文件夹</translation>
    </message>
    <message>
        <source>Move to folder</source>
        <translation>移到文件夹</translation>
    </message>
    <message>
        <source>New folder…</source>
        <translation>新建文件夹…</translation>
    </message>
    <message>
        <source>Take out of the folder</source>
        <translation>移出文件夹</translation>
    </message>
    <message>
        <source>Rename the folder</source>
        <translation>重命名文件夹</translation>
    </message>
    <message>
        <source>Show its chats</source>
        <translation>显示其中的对话</translation>
    </message>
    <message>
        <source>Hide its chats</source>
        <translation>隐藏其中的对话</translation>
    </message>
    <message>
        <source>Delete the folder</source>
        <translation>删除文件夹</translation>
    </message>
</context>
<context>
    <name>FolderRow</name>
    <message>
        <source>New models go here</source>
        <translation>新模型存放在这里</translation>
    </message>
    <message>
        <source>Not connected</source>
        <translation>未连接</translation>
    </message>
    <message>
        <source>More for {folder}</source>
        <translation>{folder} 的更多操作</translation>
    </message>
    <message>
        <source>One model</source>
        <translation>1 个模型</translation>
    </message>
    <message>
        <source>{count} models</source>
        <translation>{count} 个模型</translation>
    </message>
    <message>
        <source>No models yet</source>
        <translation>还没有模型</translation>
    </message>
    <message>
        <source>{models}, {size}</source>
        <translation>{models}，{size}</translation>
    </message>
    <message>
        <source>{models} when it was last seen. Connect its drive to use them.</source>
        <translation>上次可见时有{models}。连接该硬盘即可使用。</translation>
    </message>
    <message>
        <source>{models} · {free} of {total} free</source>
        <translation>{models} · 可用 {free} / {total}</translation>
    </message>
    <message>
        <source>Open it</source>
        <translation>打开</translation>
    </message>
    <message>
        <source>Put new models here</source>
        <translation>新模型存放到这里</translation>
    </message>
    <message>
        <source>Take it off this list…</source>
        <translation>从列表中去掉…</translation>
    </message>
</context>
<context>
    <name>FoldersView</name>
    <message>
        <source>Folders of models</source>
        <translation>模型文件夹</translation>
    </message>
    <message>
        <source>Add a folder…</source>
        <translation>添加文件夹…</translation>
    </message>
    <message>
        <source>A folder that holds models of Strata already, on another drive for example</source>
        <translation>已存有 Strata 模型的文件夹，例如在另一块硬盘上</translation>
    </message>
    <message>
        <source>A folder of models</source>
        <translation>模型文件夹</translation>
    </message>
</context>
<context>
    <name>FooterView</name>
    <message>
        <source>Message actions</source>
        <translation>消息操作</translation>
    </message>
    <message>
        <source>Version {version} of {versions}</source>
        <translation>第 {version} / {versions} 版</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>编辑</translation>
    </message>
    <message>
        <source>Delete this and what follows</source>
        <translation>删除此条及其后的内容</translation>
    </message>
    <message>
        <source>Answer again</source>
        <translation>重新回答</translation>
    </message>
    <message>
        <source>Previous version</source>
        <translation>上一版本</translation>
    </message>
    <message>
        <source>Next version</source>
        <translation>下一版本</translation>
    </message>
    <message>
        <source>Stopped</source>
        <translation>已停止</translation>
    </message>
    <message>
        <source>Reached the length limit</source>
        <translation>达到长度上限</translation>
    </message>
    <message>
        <source>The context is full</source>
        <translation>上下文已满</translation>
    </message>
    <message>
        <source>1 token</source>
        <translation>1 个词元</translation>
    </message>
    <message>
        <source>{count} tokens</source>
        <translation>{count} 个词元</translation>
    </message>
    <message>
        <source>{rate} tokens/s</source>
        <translation>{rate} 词元/秒</translation>
    </message>
    <message>
        <source>{duration} per token</source>
        <translation>每词元 {duration}</translation>
    </message>
</context>
<context>
    <name>Gpu</name>
    <message>
        <source>The trial had not ended after {minutes} minutes.</source>
        <translation>测试在 {minutes} 分钟后仍未结束。</translation>
    </message>
    <message>
        <source>What {name} computes differs from what the processor computes.</source>
        <translation>{name} 的计算结果与处理器的不一致。</translation>
    </message>
    <message>
        <source>Nothing has changed. Please report this with its details.</source>
        <translation>没有任何改动。请将此问题连同详细信息一起报告。</translation>
    </message>
    <message>
        <source>What was downloaded is not the software for the card, so it was thrown away.</source>
        <translation>下载的内容不是显卡所需的软件，已丢弃。</translation>
    </message>
    <message>
        <source>The engine did not use the software for the card.</source>
        <translation>引擎没有使用显卡所需的软件。</translation>
    </message>
    <message>
        <source>The folder {folder} could not be written to.</source>
        <translation>无法写入文件夹 {folder}。</translation>
    </message>
    <message>
        <source>Look at the drive and its permissions, then try again.</source>
        <translation>请检查硬盘及其权限，然后重试。</translation>
    </message>
    <message>
        <source>The trial on the card failed, so nothing has changed. {reason}</source>
        <translation>显卡测试失败，因此没有任何改动。{reason}</translation>
    </message>
    <message>
        <source>This needs {need} on the drive of {folder} and {floor} kept free; {have} are free.</source>
        <translation>{folder} 所在硬盘需要 {need}，另外保留 {floor} 空闲；现剩余 {have}。</translation>
    </message>
    <message>
        <source>Make room, then try again. What was downloaded is kept.</source>
        <translation>请腾出空间后重试。已下载的内容会保留。</translation>
    </message>
    <message>
        <source>The download arrived damaged {count} times.</source>
        <translation>下载的内容已有 {count} 次损坏。</translation>
    </message>
    <message>
        <source>Try again later, or on another network. Nothing has changed.</source>
        <translation>请稍后或换一个网络重试。没有任何改动。</translation>
    </message>
    <message>
        <source>A part arrived damaged, so it is fetched again.</source>
        <translation>有一部分下载时损坏，正在重新下载。</translation>
    </message>
    <message>
        <source>The NVIDIA driver here is {have}; {need} or newer is needed.</source>
        <translation>这台电脑的 NVIDIA 驱动是 {have}，需要 {need} 或更新的版本。</translation>
    </message>
    <message>
        <source>Update the driver, restart the computer, then try again.</source>
        <translation>请更新驱动、重启电脑，然后重试。</translation>
    </message>
    <message>
        <source>This card is older than those that can be computed with.</source>
        <translation>这块显卡太旧，无法用于计算。</translation>
    </message>
    <message>
        <source>Strata goes on with the processor.</source>
        <translation>Strata 将继续使用处理器。</translation>
    </message>
    <message>
        <source>There is no software for graphics cards for this version of Strata yet.</source>
        <translation>此版本的 Strata 还没有显卡所需的软件。</translation>
    </message>
    <message>
        <source>Look again later, or install the newest version of Strata.</source>
        <translation>请稍后再看，或安装最新版本的 Strata。</translation>
    </message>
    <message>
        <source>{size} of the software for the card are downloaded.</source>
        <translation>显卡所需的软件已下载 {size}。</translation>
    </message>
    <message>
        <source>Models answer faster on the card. The software for it does not come with the installer; its size is shown before anything is downloaded.</source>
        <translation>模型在显卡上回答得更快。所需的软件不在安装包中；下载之前会先显示其大小。</translation>
    </message>
    <message>
        <source>Looking up what suits your driver…</source>
        <translation>正在查找适合您驱动的软件…</translation>
    </message>
    <message>
        <source>A tiny model computes on the card, as a test.</source>
        <translation>正在用一个很小的模型测试显卡。</translation>
    </message>
    <message>
        <source>No card is found at the moment, so models run on the processor. Check that its driver is installed.</source>
        <translation>目前找不到显卡，因此模型在处理器上运行。请检查是否已安装驱动。</translation>
    </message>
    <message>
        <source>In use, and there is newer software for the card. What is installed takes {size} on the drive.</source>
        <translation>正在使用，显卡所需的软件有新版本。已安装的软件占用驱动器空间 {size}。</translation>
    </message>
    <message>
        <source>In use. The software for the card takes {size} on the drive.</source>
        <translation>使用中。显卡所需的软件占用硬盘 {size}。</translation>
    </message>
    <message>
        <source>Not in use: models run on the processor. {reason}</source>
        <translation>未使用：模型在处理器上运行。{reason}</translation>
    </message>
    <message>
        <source>The engine goes back to the processor…</source>
        <translation>引擎正在切换回处理器…</translation>
    </message>
    <message>
        <source>Remove, frees {size}</source>
        <translation>移除，可释放 {size}</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Go on</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Delete the download</source>
        <translation>删除已下载的内容</translation>
    </message>
    <message>
        <source>Use my NVIDIA graphics card</source>
        <translation>使用我的 NVIDIA 显卡</translation>
    </message>
    <message>
        <source>Download</source>
        <translation>下载</translation>
    </message>
    <message>
        <source>Not now</source>
        <translation>暂不</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Try it again</source>
        <translation>重新尝试</translation>
    </message>
    <message>
        <source>Go on with the update</source>
        <translation>继续更新</translation>
    </message>
    <message>
        <source>Update</source>
        <translation>更新</translation>
    </message>
    <message>
        <source>Look for newer software</source>
        <translation>查找新版软件</translation>
    </message>
    <message>
        <source>Downloading</source>
        <translation>正在下载</translation>
    </message>
    <message>
        <source>Unpacking</source>
        <translation>正在解压</translation>
    </message>
    <message>
        <source>Trying it out</source>
        <translation>正在测试</translation>
    </message>
    <message>
        <source>{done} of {total}</source>
        <translation>{done} / {total}</translation>
    </message>
    <message>
        <source>about {time} left</source>
        <translation>大约还需 {time}</translation>
    </message>
    <message>
        <source>NVIDIA graphics card</source>
        <translation>NVIDIA 显卡</translation>
    </message>
    <message>
        <source>Driver {version}</source>
        <translation>驱动 {version}</translation>
    </message>
    <message>
        <source>{download} to download. On the drive it takes {need} during the installation and {after} afterwards; {free} are free.</source>
        <translation>需下载 {download}。安装期间占用硬盘 {need}，之后占用 {after}；现剩余 {free}。</translation>
    </message>
    <message>
        <source>There is no newer software for the card.</source>
        <translation>没有更新版本的显卡所需软件。</translation>
    </message>
    <message>
        <source>Parts of the software for the card are missing. Remove it, then install it again.</source>
        <translation>显卡所需的软件缺少部分文件。请先将其移除，然后重新安装。</translation>
    </message>
    <message>
        <source>The newer software failed, so the one before it is used again. {reason}</source>
        <translation>新版软件运行失败，因此重新使用之前的版本。{reason}</translation>
    </message>
</context>
<context>
    <name>GpuPanel</name>
    <message>
        <source>Getting the graphics card ready</source>
        <translation>正在准备显卡</translation>
    </message>
</context>
<context>
    <name>ImageButton</name>
    <message>
        <source>Image {name}</source>
        <translation>图片 {name}</translation>
    </message>
    <message>
        <source>Shows it larger</source>
        <translation>放大显示</translation>
    </message>
</context>
<context>
    <name>ImageDialog</name>
    <message>
        <source>Save a copy…</source>
        <translation>保存副本…</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Save a copy</source>
        <translation>保存副本</translation>
    </message>
    <message>
        <source>Saved</source>
        <translation>已保存</translation>
    </message>
    <message>
        <source>Not saved: {reason}</source>
        <translation>未保存：{reason}</translation>
    </message>
</context>
<context>
    <name>ImageFiles</name>
    <message>
        <source>“{name}” has {size}; images of up to {limit} can be sent.</source>
        <translation>“{name}”有 {size}；最大可发送 {limit} 的图片。</translation>
    </message>
    <message>
        <source>Make it smaller, then add it again.</source>
        <translation>请缩小后重新添加。</translation>
    </message>
    <message>
        <source>“{name}” has {pixels} million pixels; images of up to {limit} million can be sent.</source>
        <translation>“{name}”有 {pixels} 百万像素；最大可发送 {limit} 百万像素的图片。</translation>
    </message>
    <message>
        <source>“{name}” is damaged or not an image.</source>
        <translation>“{name}”已损坏或不是图片。</translation>
    </message>
    <message>
        <source>Choose another image, or save it anew.</source>
        <translation>请选择其他图片，或重新保存它。</translation>
    </message>
</context>
<context>
    <name>JobRow</name>
    <message>
        <source>Progress of {title}</source>
        <translation>{title} 的进度</translation>
    </message>
    <message>
        <source>Pause {title}</source>
        <translation>暂停 {title}</translation>
    </message>
    <message>
        <source>Continue {title}</source>
        <translation>继续 {title}</translation>
    </message>
    <message>
        <source>Cancel {title}</source>
        <translation>取消 {title}</translation>
    </message>
    <message>
        <source>Dismiss {title}</source>
        <translation>关闭 {title}</translation>
    </message>
    <message>
        <source>Paused</source>
        <translation>已暂停</translation>
    </message>
    <message>
        <source>Waiting its turn</source>
        <translation>排队等待中</translation>
    </message>
    <message>
        <source>Getting ready</source>
        <translation>正在准备</translation>
    </message>
</context>
<context>
    <name>Jobs</name>
    <message>
        <source>Getting ready</source>
        <translation>正在准备</translation>
    </message>
    <message>
        <source>Downloading</source>
        <translation>正在下载</translation>
    </message>
    <message>
        <source>Waiting for the hub</source>
        <translation>正在等待 Hub</translation>
    </message>
    <message>
        <source>Waiting for room on the drive</source>
        <translation>正在等待硬盘空间</translation>
    </message>
    <message>
        <source>Cutting into blocks</source>
        <translation>正在切分成块</translation>
    </message>
    <message>
        <source>Reading back and checking</source>
        <translation>正在读回并校验</translation>
    </message>
    <message>
        <source>Deleting the original</source>
        <translation>正在删除原文件</translation>
    </message>
    <message>
        <source>Repairing</source>
        <translation>正在修复</translation>
    </message>
    <message>
        <source>Copying</source>
        <translation>正在复制</translation>
    </message>
    <message>
        <source>Reading back and comparing</source>
        <translation>正在读回并比对</translation>
    </message>
    <message>
        <source>Removing the old copy</source>
        <translation>正在移除旧副本</translation>
    </message>
    <message>
        <source>Copied. Waiting for the answer that uses this model</source>
        <translation>已复制。正在等待使用此模型的回答结束</translation>
    </message>
    <message>
        <source>file {number} of {count}</source>
        <translation>第 {number} / {count} 个文件</translation>
    </message>
    <message>
        <source>block {number} of {count}</source>
        <translation>第 {number} / {count} 块</translation>
    </message>
    <message>
        <source>Looking through the model, a few seconds</source>
        <translation>正在查看模型，需要几秒钟</translation>
    </message>
    <message>
        <source>{speed} · nothing has moved for a while</source>
        <translation>{speed} · 已有一段时间没有进展</translation>
    </message>
    <message>
        <source>{done} of {total}</source>
        <translation>{done} / {total}</translation>
    </message>
    <message>
        <source>Paused until {size} are free on the drive. Then it goes on by itself.</source>
        <translation>已暂停，等硬盘空出 {size} 后会自动继续。</translation>
    </message>
    <message>
        <source>Paused: the hub cannot be reached. It is tried again at {time}.</source>
        <translation>已暂停：无法连接 Hub。将在 {time} 重试。</translation>
    </message>
    <message>
        <source>Look at its code</source>
        <translation>查看其代码</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Checking what is there already</source>
        <translation>正在检查已有的内容</translation>
    </message>
    <message>
        <source>Working out how long it takes</source>
        <translation>正在估算所需时间</translation>
    </message>
    <message>
        <source>{speed} · about {time} left</source>
        <translation>{speed} · 大约还需 {time}</translation>
    </message>
</context>
<context>
    <name>KeepAwake</name>
    <message>
        <source>A model is working</source>
        <translation>模型正在工作</translation>
    </message>
</context>
<context>
    <name>LedgerView</name>
    <message>
        <source>Your drive</source>
        <translation>您的硬盘</translation>
    </message>
    <message>
        <source>Reading does not wear a drive out, however often a model is read. Writing does, very slowly: a model is written once, when it is downloaded and cut, and drives are made for hundreds of terabytes.</source>
        <translation>无论模型被读取多少次，读取都不会磨损硬盘。写入会磨损，但非常缓慢：模型只在下载和切分时写入一次，而硬盘的设计写入量有数百 TB。</translation>
    </message>
    <message>
        <source>Read today {read} · written today {written} · since {day}: {all_read} read, {all_written} written</source>
        <translation>今日读取 {read} · 今日写入 {written} · 自{day}以来：读取 {all_read}，写入 {all_written}</translation>
    </message>
</context>
<context>
    <name>Library</name>
    <message>
        <source>Remove {title}?</source>
        <translation>移除 {title}？</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Keep it</source>
        <translation>保留</translation>
    </message>
    <message>
        <source>Take this folder off the list?</source>
        <translation>要从列表中去掉此文件夹吗？</translation>
    </message>
    <message>
        <source>Nothing in {folder} is touched. Its models are no longer shown here, until you add the folder again.</source>
        <translation>{folder} 中的内容不会改动。其中的模型不再在此显示，直到您重新添加该文件夹。</translation>
    </message>
    <message>
        <source>Take it off</source>
        <translation>去掉</translation>
    </message>
    <message>
        <source>Its blocks are deleted and {size} become free. To have it again, it is downloaded again. Your chats stay; they need another model to go on.</source>
        <translation>它的块将被删除，腾出 {size}。要再次使用需重新下载。您的对话会保留，但需要另一个模型才能继续。</translation>
    </message>
    <message>
        <source>Its blocks are deleted and {size} become free. The original in {source} is not touched. Your chats stay; they need another model to go on.</source>
        <translation>它的块将被删除，腾出 {size}。{source} 中的原文件不受影响。您的对话会保留，但需要另一个模型才能继续。</translation>
    </message>
    <message>
        <source>Its blocks are deleted and {size} become free. Your chats stay; they need another model to go on.</source>
        <translation>它的块将被删除，腾出 {size}。您的对话会保留，但需要另一个模型才能继续。</translation>
    </message>
    <message>
        <source>not used yet</source>
        <translation>尚未使用</translation>
    </message>
    <message>
        <source>last used today</source>
        <translation>今天用过</translation>
    </message>
    <message>
        <source>last used yesterday</source>
        <translation>昨天用过</translation>
    </message>
    <message>
        <source>last used on {day}</source>
        <translation>上次使用：{day}</translation>
    </message>
</context>
<context>
    <name>LibraryPage</name>
    <message>
        <source>Library</source>
        <translation>模型库</translation>
    </message>
    <message>
        <source>No models yet</source>
        <translation>还没有模型</translation>
    </message>
    <message>
        <source>Add the small starter model that comes with Strata, or one whose files you have.</source>
        <translation>添加随 Strata 附带的小型入门模型，或添加您已有文件的模型。</translation>
    </message>
    <message>
        <source>Add a model</source>
        <translation>添加模型</translation>
    </message>
    <message>
        <source>At work</source>
        <translation>进行中</translation>
    </message>
    <message>
        <source>No model matches. Try fewer words.</source>
        <translation>没有匹配的模型。请减少关键词再试。</translation>
    </message>
    <message>
        <source>Search models</source>
        <translation>搜索模型</translation>
    </message>
    <message>
        <source>Sort by</source>
        <translation>排序方式</translation>
    </message>
    <message>
        <source>By name</source>
        <translation>按名称</translation>
    </message>
    <message>
        <source>Largest first</source>
        <translation>从大到小</translation>
    </message>
    <message>
        <source>Fastest first</source>
        <translation>最快的在前</translation>
    </message>
    <message>
        <source>Last used first</source>
        <translation>最近使用优先</translation>
    </message>
    <message>
        <source>One model takes {size}</source>
        <translation>1 个模型占用 {size}</translation>
    </message>
    <message>
        <source>{count} models take {size}</source>
        <translation>{count} 个模型占用 {size}</translation>
    </message>
    <message>
        <source>{models}; {free} are free on their drive</source>
        <translation>{models}；所在硬盘可用 {free}</translation>
    </message>
    <message>
        <source>Repairing {title}</source>
        <translation>正在修复 {title}</translation>
    </message>
    <message>
        <source>Verifying {title}</source>
        <translation>正在校验 {title}</translation>
    </message>
    <message>
        <source>{title} was removed; {size} are free again.</source>
        <translation>已移除 {title}；腾出了 {size}。</translation>
    </message>
    <message>
        <source>Every block of {model} is as it was written.</source>
        <translation>{model} 的每一块都完好如初。</translation>
    </message>
    <message>
        <source>{model} is whole again.</source>
        <translation>{model} 已恢复完整。</translation>
    </message>
    <message>
        <source>{model} is in {folder} now. It was read back and compared.</source>
        <translation>{model} 现在在 {folder} 中，已读回并比对。</translation>
    </message>
    <message>
        <source>Repair</source>
        <translation>修复</translation>
    </message>
    <message>
        <source>Refresh</source>
        <translation>刷新</translation>
    </message>
</context>
<context>
    <name>LicencesDialog</name>
    <message>
        <source>Licences</source>
        <translation>许可证</translation>
    </message>
    <message>
        <source>Strata carries this free software, each under its own licence.</source>
        <translation>Strata 附带以下自由软件，各自遵循其许可证。</translation>
    </message>
    <message>
        <source>Software</source>
        <translation>软件</translation>
    </message>
    <message>
        <source>Text of the licence</source>
        <translation>许可证文本</translation>
    </message>
    <message>
        <source>Close</source>
        <translation type="unfinished">关闭</translation>
    </message>
</context>
<context>
    <name>Links</name>
    <message>
        <source>Open this address in your browser?</source>
        <translation>在浏览器中打开此地址？</translation>
    </message>
</context>
<context>
    <name>LiveLine</name>
    <message>
        <source>Stalled for {duration}</source>
        <translation>已停滞 {duration}</translation>
    </message>
    <message>
        <source>Waits for the answer in “{chat}”</source>
        <translation>正在等待“{chat}”中的回答</translation>
    </message>
    <message>
        <source>Waits for its turn</source>
        <translation>排队等待中</translation>
    </message>
    <message>
        <source>The engine is starting again, then the answer goes on</source>
        <translation>引擎正在重新启动，随后回答将继续</translation>
    </message>
    <message>
        <source>The engine is not running</source>
        <translation>引擎没有运行</translation>
    </message>
    <message>
        <source>Starting the engine</source>
        <translation>正在启动引擎</translation>
    </message>
    <message>
        <source>Loading the model</source>
        <translation>正在加载模型</translation>
    </message>
    <message>
        <source>Loading the model · {share} %</source>
        <translation>正在加载模型 · {share} %</translation>
    </message>
    <message>
        <source>Reading the prompt</source>
        <translation>正在读取提示</translation>
    </message>
    <message>
        <source>Reading the prompt · {share} %</source>
        <translation>正在读取提示 · {share} %</translation>
    </message>
    <message>
        <source>first token in about {left}</source>
        <translation>大约 {left} 后出现第一个词元</translation>
    </message>
    <message>
        <source>Token {number}</source>
        <translation>第 {number} 个词元</translation>
    </message>
    <message>
        <source>{rate} tokens/s</source>
        <translation>{rate} 词元/秒</translation>
    </message>
    <message>
        <source>layer {layer} of {layers}</source>
        <translation>第 {layer} / {layers} 层</translation>
    </message>
    <message>
        <source>next token in about {left}</source>
        <translation>大约 {left} 后出现下一个词元</translation>
    </message>
</context>
<context>
    <name>LiveView</name>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Stop the answer (Esc)</source>
        <translation>停止回答（Esc）</translation>
    </message>
</context>
<context>
    <name>Machine</name>
    <message>
        <source>Graphics card with {total} of memory, {free} free</source>
        <translation>显卡，显存 {total}，可用 {free}</translation>
    </message>
    <message>
        <source>No graphics card that can compute</source>
        <translation>没有可用于计算的显卡</translation>
    </message>
    <message>
        <source>Models run on the processor.</source>
        <translation>模型在处理器上运行。</translation>
    </message>
    <message>
        <source>computes {size} of weights a second</source>
        <translation>每秒计算 {size} 权重</translation>
    </message>
    <message>
        <source>{size} of memory</source>
        <translation>{size} 内存</translation>
    </message>
    <message>
        <source>{size} free now</source>
        <translation>目前可用 {size}</translation>
    </message>
    <message>
        <source>The drive that holds your models</source>
        <translation>存放模型的硬盘</translation>
    </message>
    <message>
        <source>{free} of {total} free</source>
        <translation>可用 {free} / {total}</translation>
    </message>
    <message>
        <source>One core</source>
        <translation>1 个核心</translation>
    </message>
    <message>
        <source>{count} cores</source>
        <translation>{count} 个核心</translation>
    </message>
    <message>
        <source>What fits into memory answers quickly. Of a larger model the rest is read from its drive for every token: each 10 GB from this one takes {time}.</source>
        <translation>能放进内存的模型回答很快。更大的模型，其余部分每个词元都要从所在硬盘读取：从这块硬盘读取每 10 GB 需要 {time}。</translation>
    </message>
</context>
<context>
    <name>MachineStep</name>
    <message>
        <source>This computer</source>
        <translation>这台电脑</translation>
    </message>
    <message>
        <source>Every time that Strata names is the time it takes here: measured, not looked up.</source>
        <translation>Strata 给出的每个时间都是在这台电脑上所需的时间：实测所得，而非查表。</translation>
    </message>
    <message>
        <source>Measuring the drive and the processor. This takes a few seconds.</source>
        <translation>正在测量硬盘和处理器，需要几秒钟。</translation>
    </message>
    <message>
        <source>Your other drives</source>
        <translation>其他硬盘</translation>
    </message>
    <message>
        <source>Measure again</source>
        <translation>重新测量</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>{page} – Strata</source>
        <translation>{page} – Strata</translation>
    </message>
</context>
<context>
    <name>MessageDeeds</name>
    <message>
        <source>The message and what followed it are gone.</source>
        <translation>该消息及其后的内容已删除。</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
</context>
<context>
    <name>ModelPicker</name>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Search models</source>
        <translation>搜索模型</translation>
    </message>
    <message>
        <source>Add a model…</source>
        <translation>添加模型…</translation>
    </message>
    <message>
        <source>No model is called that</source>
        <translation>没有这个名称的模型</translation>
    </message>
    <message>
        <source>No model is here yet</source>
        <translation>这里还没有模型</translation>
    </message>
    <message>
        <source>sees images</source>
        <translation>能看图片</translation>
    </message>
    <message>
        <source>about {duration} per token</source>
        <translation>每个词元大约 {duration}</translation>
    </message>
    <message>
        <source>not cut to its end yet</source>
        <translation>尚未切分完成</translation>
    </message>
    <message>
        <source>damaged: repair it in the library</source>
        <translation>已损坏：请在模型库中修复</translation>
    </message>
    <message>
        <source>on a drive that is not connected</source>
        <translation>所在硬盘未连接</translation>
    </message>
</context>
<context>
    <name>ModelRow</name>
    <message>
        <source>{size} on the drive</source>
        <translation>硬盘占用 {size}</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Finish</source>
        <translation>完成切分</translation>
    </message>
    <message>
        <source>Look again</source>
        <translation>重新查看</translation>
    </message>
    <message>
        <source>Remove…</source>
        <translation>移除…</translation>
    </message>
    <message>
        <source>More for {title}</source>
        <translation>{title} 的更多操作</translation>
    </message>
    <message>
        <source>Unfinished</source>
        <translation>未完成</translation>
    </message>
    <message>
        <source>Damaged</source>
        <translation>已损坏</translation>
    </message>
    <message>
        <source>Not connected</source>
        <translation>未连接</translation>
    </message>
    <message>
        <source>Only partly cut. Finishing goes on after the last block that is done.</source>
        <translation>只切分了一部分。继续时将从最后完成的块之后接着进行。</translation>
    </message>
    <message>
        <source>Its description cannot be read. Remove it, then add it again from its original.</source>
        <translation>无法读取它的描述。请先移除，再从原文件重新添加。</translation>
    </message>
    <message>
        <source>It is on a drive that is not connected. Connect it, and the model is here again.</source>
        <translation>它在一块未连接的硬盘上。连接后，模型就会回来。</translation>
    </message>
    <message>
        <source>Ready</source>
        <translation>就绪</translation>
    </message>
    <message>
        <source>up to {tokens} tokens</source>
        <translation>最多 {tokens} 个词元</translation>
    </message>
    <message>
        <source>without a chat template</source>
        <translation>没有对话模板</translation>
    </message>
    <message>
        <source>Verify every block</source>
        <translation>校验每一块</translation>
    </message>
    <message>
        <source>Repair from the original</source>
        <translation>从原文件修复</translation>
    </message>
    <message>
        <source>Move to another drive…</source>
        <translation>移动到另一块硬盘…</translation>
    </message>
    <message>
        <source>Open its folder</source>
        <translation>打开所在文件夹</translation>
    </message>
</context>
<context>
    <name>MoveDialog</name>
    <message>
        <source>Move {title}</source>
        <translation>移动 {title}</translation>
    </message>
    <message>
        <source>Where to</source>
        <translation>移动到</translation>
    </message>
    <message>
        <source>Move</source>
        <translation>移动</translation>
    </message>
    <message>
        <source>Leave it here</source>
        <translation>留在原处</translation>
    </message>
    <message>
        <source>It takes {size} and is in {folder} now. Every file is copied, read back and compared; only then the old one is removed. You can pause it, close Strata, or go on chatting meanwhile.</source>
        <translation>它占用 {size}，现在在 {folder} 中。每个文件都会复制、读回并比对；之后才移除旧文件。期间您可以暂停、关闭 Strata，或继续聊天。</translation>
    </message>
    <message>
        <source>There is no other drive it could go to. Choose another folder.</source>
        <translation>没有其他硬盘可以存放它。请选择另一个文件夹。</translation>
    </message>
    <message>
        <source>It is there already.</source>
        <translation>它已经在那里了。</translation>
    </message>
    <message>
        <source>This drive is not connected.</source>
        <translation>该硬盘未连接。</translation>
    </message>
    <message>
        <source>{left} stay free there.</source>
        <translation>那里还会剩余 {left}。</translation>
    </message>
</context>
<context>
    <name>NameDialog</name>
    <message>
        <source>Name</source>
        <translation>名称</translation>
    </message>
</context>
<context>
    <name>NameView</name>
    <message>
        <source>Answer</source>
        <translation>回答</translation>
    </message>
</context>
<context>
    <name>NoticeBar</name>
    <message>
        <source>Details</source>
        <translation>详细信息</translation>
    </message>
    <message>
        <source>Dismiss</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Hide details</source>
        <translation>隐藏详细信息</translation>
    </message>
</context>
<context>
    <name>OfferRow</name>
    <message>
        <source>Languages: {languages}</source>
        <translation>语言：{languages}</translation>
    </message>
    <message>
        <source>Licence: {licence}</source>
        <translation>许可证：{licence}</translation>
    </message>
    <message>
        <source>Already on this computer: {place}</source>
        <translation>已在这台电脑上：{place}</translation>
    </message>
    <message>
        <source>Its weights come in a format this version cannot run yet. A later version will.</source>
        <translation>它的权重格式在此版本中还不能运行，以后的版本将会支持。</translation>
    </message>
    <message>
        <source>Its publisher asks you to accept the licence on its page first. Put the folder of this model on this computer and choose it here.</source>
        <translation>发布者要求您先在其页面上接受许可证。请把这个模型的文件夹放到这台电脑上，然后在这里选择。</translation>
    </message>
    <message>
        <source>Put the folder of this model on this computer and choose it here.</source>
        <translation>请把这个模型的文件夹放到这台电脑上，然后在这里选择。</translation>
    </message>
    <message>
        <source>Choose this model</source>
        <translation>选择此模型</translation>
    </message>
    <message>
        <source>Choose {title}</source>
        <translation>选择 {title}</translation>
    </message>
    <message>
        <source>Choose its folder…</source>
        <translation>选择它的文件夹…</translation>
    </message>
    <message>
        <source>Read its description</source>
        <translation>阅读说明</translation>
    </message>
    <message>
        <source>Read the description of {title}</source>
        <translation>阅读 {title} 的说明</translation>
    </message>
    <message>
        <source>Open its page</source>
        <translation>打开它的页面</translation>
    </message>
</context>
<context>
    <name>Offers</name>
    <message>
        <source>Comes with Strata</source>
        <translation>随 Strata 附带</translation>
    </message>
    <message>
        <source>On this computer</source>
        <translation>在这台电脑上</translation>
    </message>
    <message>
        <source>Asks for permission</source>
        <translation>需要许可</translation>
    </message>
    <message>
        <source>about {size}</source>
        <translation>约 {size}</translation>
    </message>
    <message>
        <source>{total} billion parameters</source>
        <translation>{total}B 参数</translation>
    </message>
    <message>
        <source>{total} billion parameters, {active} at work on each token</source>
        <translation>{total}B 参数，每个词元激活 {active}B</translation>
    </message>
    <message>
        <source>conversations of up to {tokens} tokens</source>
        <translation>对话最长 {tokens} 个词元</translation>
    </message>
    <message>
        <source>16-bit (bfloat16)</source>
        <translation>16 位 (bfloat16)</translation>
    </message>
    <message>
        <source>16-bit (float16)</source>
        <translation>16 位 (float16)</translation>
    </message>
    <message>
        <source>32-bit (float32)</source>
        <translation>32 位 (float32)</translation>
    </message>
    <message>
        <source>8-bit (FP8)</source>
        <translation>8 位 (FP8)</translation>
    </message>
    <message>
        <source>4-bit (MXFP4)</source>
        <translation>4 位 (MXFP4)</translation>
    </message>
</context>
<context>
    <name>OptionsPanel</name>
    <message>
        <source>Temperature</source>
        <translation>温度</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Keeps this many of the likeliest tokens. 0 keeps all.</source>
        <translation>只保留这么多个最可能的词元。0 表示全部保留。</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Lower is more predictable, higher more varied. 0 is always the likeliest.</source>
        <translation>越低越可预测，越高越多样。0 总是取最可能的。</translation>
    </message>
    <message>
        <source>Keeps the likeliest tokens that make up this share. 1 keeps all.</source>
        <translation>只保留合计占此比例的最可能词元。1 表示全部保留。</translation>
    </message>
    <message>
        <source>Drops tokens below this share of the likeliest one. 0 drops none.</source>
        <translation>去掉概率低于最可能词元此比例的词元。0 表示不去掉。</translation>
    </message>
    <message>
        <source>Repetition penalty</source>
        <translation>重复惩罚</translation>
    </message>
    <message>
        <source>Above 1 the model repeats itself less.</source>
        <translation>大于 1 时模型较少重复自己。</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>随机种子</translation>
    </message>
    <message>
        <source>The same number gives the same answer again.</source>
        <translation>相同的数字会得到相同的回答。</translation>
    </message>
    <message>
        <source>Longest answer</source>
        <translation>回答长度上限</translation>
    </message>
    <message>
        <source>In tokens. The answer ends there, even in the middle of a sentence.</source>
        <translation>以词元计。回答到此结束，哪怕在句子中间。</translation>
    </message>
    <message>
        <source>Options of this chat</source>
        <translation>此对话的选项</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>系统提示</translation>
    </message>
    <message>
        <source>How the model should behave in this chat</source>
        <translation>模型在此对话中应如何表现</translation>
    </message>
    <message>
        <source>Preset</source>
        <translation>预设</translation>
    </message>
    <message>
        <source>Delete this preset</source>
        <translation>删除此预设</translation>
    </message>
    <message>
        <source>No preset</source>
        <translation>无预设</translation>
    </message>
    <message>
        <source>Choose a preset</source>
        <translation>选择预设</translation>
    </message>
    <message>
        <source>Close the options</source>
        <translation>关闭选项</translation>
    </message>
    <message>
        <source>Save as a preset</source>
        <translation>保存为预设</translation>
    </message>
    <message>
        <source>Sampling</source>
        <translation>采样</translation>
    </message>
    <message>
        <source>All to the model&apos;s defaults</source>
        <translation>全部恢复为模型默认值</translation>
    </message>
    <message>
        <source>Keeps the system prompt and the sampling of this chat, for others as well.</source>
        <translation>保留此对话的系统提示词和采样设置，其他对话也可使用。</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>保存</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
</context>
<context>
    <name>OverflowDialog</name>
    <message>
        <source>The conversation is too long for this model</source>
        <translation>对话对此模型来说太长了</translation>
    </message>
    <message>
        <source>Leave out the oldest half of what came before</source>
        <translation>略去之前内容中较早的一半</translation>
    </message>
    <message>
        <source>Start a new chat with a summary</source>
        <translation>用摘要开始新对话</translation>
    </message>
    <message>
        <source>Summary for the new chat</source>
        <translation>新对话的摘要</translation>
    </message>
    <message>
        <source>Not now</source>
        <translation>暂不</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>It needs {need} tokens; there is room for {have}.</source>
        <translation>需要 {need} 个词元；只能容纳 {have} 个。</translation>
    </message>
    <message>
        <source>Make room for {tokens} tokens</source>
        <translation>腾出 {tokens} 个词元的空间</translation>
    </message>
    <message>
        <source>Keeps {size} of memory free for the conversation, so less of the model stays in memory. It is loaded anew, which takes a moment.</source>
        <translation>为对话留出 {size} 内存，因此常驻内存的模型部分会减少。模型需要重新加载，要等一会儿。</translation>
    </message>
    <message>
        <source>Keeps {size} of memory free for the conversation, so less of the model stays in memory: a token then takes about {duration}. It is loaded anew, which takes a moment.</source>
        <translation>为对话留出 {size} 内存，因此常驻内存的模型部分会减少：之后每个词元约需 {duration}。模型需要重新加载，要等一会儿。</translation>
    </message>
    <message>
        <source>You can still read all of it here; the model no longer sees that part.</source>
        <translation>您仍可在这里阅读全部内容；模型不再看到那一部分。</translation>
    </message>
    <message>
        <source>Edit it as you like: the model will know only this.</source>
        <translation>请随意编辑：模型只会知道这些内容。</translation>
    </message>
</context>
<context>
    <name>PacePreview</name>
    <message>
        <source>Model to estimate with</source>
        <translation>用于估算的模型</translation>
    </message>
    <message>
        <source>About {pace} per token; {size} read from the drive for each.</source>
        <translation>每个词元大约 {pace}；每个词元从硬盘读取 {size}。</translation>
    </message>
    <message>
        <source>About {pace} per token; all of it stays in memory.</source>
        <translation>每个词元大约 {pace}；全部常驻内存。</translation>
    </message>
</context>
<context>
    <name>Places</name>
    <message>
        <source>Moving {title}</source>
        <translation>正在移动 {title}</translation>
    </message>
</context>
<context>
    <name>Program</name>
    <message>
        <source>The settings could not be read, so the default ones hold.</source>
        <translation>无法读取设置，因此使用默认设置。</translation>
    </message>
    <message>
        <source>The damaged file was kept as {name}.</source>
        <translation>损坏的文件已保留为 {name}。</translation>
    </message>
    <message>
        <source>The file of your chats was damaged. All that could be read of it is here.</source>
        <translation>保存对话的文件已损坏。能读取的内容都在这里。</translation>
    </message>
    <message>
        <source>Safe mode: default settings hold, and the engine is not started.</source>
        <translation>安全模式：使用默认设置，且不启动引擎。</translation>
    </message>
    <message>
        <source>You can read your chats and export them. Start Strata again to answer.</source>
        <translation>您可以阅读和导出对话。要继续回答，请重新启动 Strata。</translation>
    </message>
    <message>
        <source>This job starts at {time}.</source>
        <translation>此任务将于 {time} 开始。</translation>
    </message>
    <message>
        <source>The settings say that jobs start at night. Continue it in the library to start it now.</source>
        <translation>设置为夜间开始任务。要立即开始，请在模型库中点击继续。</translation>
    </message>
    <message>
        <source>The software for your graphics card did not start, so models run on the processor.</source>
        <translation>显卡所需的软件未能启动，因此模型在处理器上运行。</translation>
    </message>
    <message>
        <source>Strata {version} is available.</source>
        <translation>Strata {version} 已发布。</translation>
    </message>
    <message>
        <source>Under Settings, Program, you see what is new.</source>
        <translation>在“设置”的“程序”部分可以看到新内容。</translation>
    </message>
    <message>
        <source>Nothing is lost. Under Settings you can try it again, or remove it.</source>
        <translation>没有丢失任何内容。您可以在设置中重新尝试或将其移除。</translation>
    </message>
    <message>
        <source>Quit while something is under way?</source>
        <translation>有工作正在进行，确定退出吗？</translation>
    </message>
    <message>
        <source>It continues from where it is the next time you start Strata. Nothing is lost.</source>
        <translation>下次启动 Strata 时将从当前位置继续，不会丢失任何内容。</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
    <message>
        <source>Keep working</source>
        <translation>继续工作</translation>
    </message>
</context>
<context>
    <name>ProgressStep</name>
    <message>
        <source>Progress of the download</source>
        <translation>下载进度</translation>
    </message>
    <message>
        <source>Progress of the cutting</source>
        <translation>切分进度</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>暂停</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>继续</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Add another model</source>
        <translation>添加另一个模型</translation>
    </message>
    <message>
        <source>Use the starter meanwhile</source>
        <translation>先用入门模型</translation>
    </message>
    <message>
        <source>Getting ready</source>
        <translation>正在准备</translation>
    </message>
    <message>
        <source>Preparing the starter…</source>
        <translation>正在准备入门模型…</translation>
    </message>
    <message>
        <source>Cutting begins with the first file that has arrived</source>
        <translation>第一个文件到达后即开始切分</translation>
    </message>
    <message>
        <source>Stopping at the end of this block.</source>
        <translation>将在此块结束时停止。</translation>
    </message>
    <message>
        <source>This begins at night, at {time}. “Continue” starts it now.</source>
        <translation>将在夜间 {time} 开始。点击“继续”可立即开始。</translation>
    </message>
    <message>
        <source>Another job is at work. This one begins as soon as that one has ended.</source>
        <translation>另一个任务正在进行。它一结束，此任务就会开始。</translation>
    </message>
    <message>
        <source>You can close the window or go on chatting: this continues, and goes on after a restart.</source>
        <translation>您可以关闭窗口或继续对话：它会一直进行，重启后也会继续。</translation>
    </message>
    <message>
        <source>Paused. What is done is kept; continuing repeats at most one block.</source>
        <translation>已暂停。已完成的部分会保留；继续时最多重做一块。</translation>
    </message>
    <message>
        <source>It stopped. What is done is kept.</source>
        <translation>已停止。已完成的部分会保留。</translation>
    </message>
    <message>
        <source>Ready.</source>
        <translation>就绪。</translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation>已取消。</translation>
    </message>
</context>
<context>
    <name>PromptEdit</name>
    <message>
        <source>Message</source>
        <translation>消息</translation>
    </message>
</context>
<context>
    <name>ProseView</name>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
</context>
<context>
    <name>RecommendedCard</name>
    <message>
        <source>Recommended: {title}</source>
        <translation>推荐：{title}</translation>
    </message>
    <message>
        <source>Ready now, no download</source>
        <translation>立即可用，无需下载</translation>
    </message>
    <message>
        <source>Recommended here</source>
        <translation>适合这台电脑</translation>
    </message>
</context>
<context>
    <name>SettingEditor</name>
    <message>
        <source>Write a whole address, such as {example}.</source>
        <translation>请填写完整的地址，例如 {example}。</translation>
    </message>
    <message>
        <source>This value is not allowed.</source>
        <translation>不允许使用此值。</translation>
    </message>
</context>
<context>
    <name>Settings</name>
    <message>
        <source>Theme</source>
        <translation>主题</translation>
    </message>
    <message>
        <source>“System” follows your computer, also when it changes in the evening.</source>
        <translation>“跟随系统”会与电脑保持一致，傍晚切换时也一样。</translation>
    </message>
    <message>
        <source>System</source>
        <translation>跟随系统</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>浅色</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>深色</translation>
    </message>
    <message>
        <source>Text size</source>
        <translation>文字大小</translation>
    </message>
    <message>
        <source>Also with Ctrl and plus, minus or zero.</source>
        <translation>也可用 Ctrl 加加号、减号或零调整。</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>Keep working when the window is closed</source>
        <translation>关闭窗口后继续工作</translation>
    </message>
    <message>
        <source>While an answer or a job is under way, an icon near the clock shows the time left. With nothing to do, closing the window quits.</source>
        <translation>在回答或任务进行时，时钟旁的图标会显示剩余时间。无事可做时，关闭窗口即退出。</translation>
    </message>
    <message>
        <source>Tell me when an answer or a job is done</source>
        <translation>回答或任务完成时通知我</translation>
    </message>
    <message>
        <source>One notice from the system, only while the window is not in front.</source>
        <translation>由系统发出一条通知，仅在窗口不在最前时。</translation>
    </message>
    <message>
        <source>Keep the computer awake while working</source>
        <translation>工作时保持电脑唤醒</translation>
    </message>
    <message>
        <source>Only while an answer or a job is under way. The screen may still turn off by itself.</source>
        <translation>仅在回答或任务进行时。屏幕仍可自行关闭。</translation>
    </message>
    <message>
        <source>Start jobs at night</source>
        <translation>夜间开始任务</translation>
    </message>
    <message>
        <source>New jobs wait for the night. One that you continue by hand runs at once, and one that has begun is carried to its end.</source>
        <translation>新任务会等到夜间。手动继续的任务立即运行，已开始的任务会进行到底。</translation>
    </message>
    <message>
        <source>Night begins</source>
        <translation>夜间开始时间</translation>
    </message>
    <message>
        <source>Night ends</source>
        <translation>夜间结束时间</translation>
    </message>
    <message>
        <source>Folder of models</source>
        <translation>模型文件夹</translation>
    </message>
    <message>
        <source>A fast drive with room to spare. Models that are already cut stay where they are.</source>
        <translation>请选择空间充裕的高速硬盘。已切分的模型保持在原处。</translation>
    </message>
    <message>
        <source>Memory for models</source>
        <translation>模型可用内存</translation>
    </message>
    <message>
        <source>What fits here need not be read from the drive for every token. “Automatic” takes what is free and leaves room for your other programs.</source>
        <translation>放得进这里的部分不必为每个词元从硬盘读取。“自动”使用空闲内存，并为其他程序留出余地。</translation>
    </message>
    <message>
        <source>Graphics memory for models</source>
        <translation>模型可用显存</translation>
    </message>
    <message>
        <source>Used only where the computer has a graphics card that can compute.</source>
        <translation>仅在电脑有可用于计算的显卡时使用。</translation>
    </message>
    <message>
        <source>Mirror of the hub</source>
        <translation>Hub 镜像</translation>
    </message>
    <message>
        <source>Leave empty for huggingface.co.</source>
        <translation>留空则使用 huggingface.co。</translation>
    </message>
    <message>
        <source>Proxy</source>
        <translation>代理</translation>
    </message>
    <message>
        <source>Leave empty to use the system&apos;s.</source>
        <translation>留空则使用系统代理。</translation>
    </message>
    <message>
        <source>Always leave free on the drive</source>
        <translation>硬盘始终保留的可用空间</translation>
    </message>
    <message>
        <source>Jobs pause at this floor and continue when there is room again.</source>
        <translation>任务到此下限会暂停，有空间后继续。</translation>
    </message>
    <message>
        <source>Check for a newer version once a week</source>
        <translation>每周检查一次新版本</translation>
    </message>
    <message>
        <source>Reads one public file and says what is new. Nothing about you is sent, nothing is downloaded.</source>
        <translation>读取一个公开文件并显示新内容。不会发送任何关于您的信息，也不会下载任何内容。</translation>
    </message>
</context>
<context>
    <name>SettingsPage</name>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Search settings</source>
        <translation>搜索设置</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>外观</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Memory and speed</source>
        <translation>内存与速度</translation>
    </message>
    <message>
        <source>Downloads and space</source>
        <translation>下载与空间</translation>
    </message>
    <message>
        <source>While a model works</source>
        <translation>模型工作时</translation>
    </message>
    <message>
        <source>Takes effect after a restart.</source>
        <translation>重启后生效。</translation>
    </message>
    <message>
        <source>Hub token</source>
        <translation>Hub 令牌</translation>
    </message>
    <message>
        <source>Only needed for models that ask you to accept a licence first.</source>
        <translation>仅在模型要求您先接受许可证时需要。</translation>
    </message>
    <message>
        <source>NVIDIA graphics card</source>
        <translation>NVIDIA 显卡</translation>
    </message>
    <message>
        <source>Show shortcuts</source>
        <translation>显示快捷键</translation>
    </message>
    <message>
        <source>Open log folder</source>
        <translation>打开日志文件夹</translation>
    </message>
    <message>
        <source>About Strata</source>
        <translation>关于 Strata</translation>
    </message>
    <message>
        <source>Check for a newer version</source>
        <translation>检查新版本</translation>
    </message>
    <message>
        <source>Program</source>
        <translation>程序</translation>
    </message>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>键盘快捷键</translation>
    </message>
    <message>
        <source>Also with F1.</source>
        <translation>也可按 F1。</translation>
    </message>
    <message>
        <source>Logs</source>
        <translation>日志</translation>
    </message>
    <message>
        <source>What happened, for when something goes wrong. They stay on this computer.</source>
        <translation>记录发生的事情，以备出错时查看。它们只保存在这台电脑上。</translation>
    </message>
    <message>
        <source>Strata then says what is new. It downloads nothing.</source>
        <translation>Strata 会告诉您有哪些新内容，不会下载任何东西。</translation>
    </message>
    <message>
        <source>Version {version}</source>
        <translation>版本 {version}</translation>
    </message>
    <message>
        <source>Strata sends nothing about you to anybody, does not start with the computer and never updates itself.</source>
        <translation>Strata 不会向任何人发送您的信息，不会随电脑启动，也不会自行更新。</translation>
    </message>
    <message>
        <source>No setting is called “{words}”.</source>
        <translation>没有名为“{words}”的设置。</translation>
    </message>
    <message>
        <source>One of these settings takes effect after a restart.</source>
        <translation>其中一项设置将在重启后生效。</translation>
    </message>
    <message>
        <source>What is under way continues afterwards.</source>
        <translation>进行中的工作会在之后继续。</translation>
    </message>
    <message>
        <source>Restart Strata</source>
        <translation>重启 Strata</translation>
    </message>
</context>
<context>
    <name>Shortcuts</name>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Search chats</source>
        <translation>搜索对话</translation>
    </message>
    <message>
        <source>Find in this chat</source>
        <translation>在此对话中查找</translation>
    </message>
    <message>
        <source>Choose the model</source>
        <translation>选择模型</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>New line</source>
        <translation>换行</translation>
    </message>
    <message>
        <source>Edit the last prompt, when the composer is empty</source>
        <translation>编辑上一条提示（输入框为空时）</translation>
    </message>
    <message>
        <source>Stop the answer</source>
        <translation>停止回答</translation>
    </message>
    <message>
        <source>Answer again</source>
        <translation>重新回答</translation>
    </message>
    <message>
        <source>Copy the last answer</source>
        <translation>复制最后的回答</translation>
    </message>
    <message>
        <source>Previous version</source>
        <translation>上一版本</translation>
    </message>
    <message>
        <source>Next version</source>
        <translation>下一版本</translation>
    </message>
    <message>
        <source>Show or hide the sidebar</source>
        <translation>显示或隐藏侧边栏</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Larger text</source>
        <translation>放大文字</translation>
    </message>
    <message>
        <source>Smaller text</source>
        <translation>缩小文字</translation>
    </message>
    <message>
        <source>Text at its usual size</source>
        <translation>恢复文字大小</translation>
    </message>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>键盘快捷键</translation>
    </message>
    <message>
        <source>Quit Strata</source>
        <translation>退出 Strata</translation>
    </message>
    <message>
        <source>Window</source>
        <translation>窗口</translation>
    </message>
    <message>
        <source>Chats</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Answers</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>Writing</source>
        <translation>输入</translation>
    </message>
</context>
<context>
    <name>ShortcutsDialog</name>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>键盘快捷键</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>SidebarFrame</name>
    <message>
        <source>Sidebar</source>
        <translation>侧边栏</translation>
    </message>
    <message>
        <source>New chat</source>
        <translation>新对话</translation>
    </message>
    <message>
        <source>Library</source>
        <translation>模型库</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Show or hide the sidebar</source>
        <translation>显示或隐藏侧边栏</translation>
    </message>
</context>
<context>
    <name>SizeControl</name>
    <message>
        <source>Automatic</source>
        <translation>自动</translation>
    </message>
</context>
<context>
    <name>StartFailureDialog</name>
    <message>
        <source>Strata cannot start</source>
        <translation>Strata 无法启动</translation>
    </message>
    <message>
        <source>Details</source>
        <translation>详细信息</translation>
    </message>
    <message>
        <source>Your chats and models are untouched.</source>
        <translation>您的对话和模型没有改动。</translation>
    </message>
    <message>
        <source>The folder {folder} cannot be used: {reason}.</source>
        <translation>文件夹 {folder} 无法使用：{reason}。</translation>
    </message>
    <message>
        <source>Check that its drive is connected and not full, and that you may write there. Then try again.</source>
        <translation>请检查其硬盘是否已连接、是否已满，以及您是否有写入权限。然后重试。</translation>
    </message>
    <message>
        <source>Open the folder</source>
        <translation>打开文件夹</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>退出</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
</context>
<context>
    <name>StepView</name>
    <message>
        <source>Back</source>
        <translation>返回</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>继续</translation>
    </message>
</context>
<context>
    <name>TextFiles</name>
    <message>
        <source>“{name}” has {size}; up to {limit} can be attached.</source>
        <translation>“{name}”有 {size}；最多可附加 {limit}。</translation>
    </message>
    <message>
        <source>Copy the part you need into the message.</source>
        <translation>请把需要的部分复制到消息中。</translation>
    </message>
    <message>
        <source>“{name}” cannot be read.</source>
        <translation>无法读取“{name}”。</translation>
    </message>
    <message>
        <source>“{name}” is not a text file.</source>
        <translation>“{name}”不是文本文件。</translation>
    </message>
    <message>
        <source>Attach files of plain text, code or data.</source>
        <translation>请附加纯文本、代码或数据文件。</translation>
    </message>
</context>
<context>
    <name>ThinkingHead</name>
    <message>
        <source>Hide the thinking</source>
        <translation>隐藏思考过程</translation>
    </message>
    <message>
        <source>Show the thinking</source>
        <translation>显示思考过程</translation>
    </message>
    <message>
        <source>Thinking…</source>
        <translation>正在思考…</translation>
    </message>
    <message>
        <source>Thought before answering</source>
        <translation>回答前的思考</translation>
    </message>
    <message>
        <source>Thought for {duration}</source>
        <translation>思考了 {duration}</translation>
    </message>
</context>
<context>
    <name>TokenEditor</name>
    <message>
        <source>Hub token</source>
        <translation>Hub 令牌</translation>
    </message>
    <message>
        <source>Show the token</source>
        <translation>显示令牌</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>保存</translation>
    </message>
    <message>
        <source>Save the token</source>
        <translation>保存令牌</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Remove the token</source>
        <translation>移除令牌</translation>
    </message>
    <message>
        <source>Taken from the environment variable HF_TOKEN.</source>
        <translation>取自环境变量 HF_TOKEN。</translation>
    </message>
    <message>
        <source>This computer has no keyring that Strata can use. A token holds until you quit, and is not saved.</source>
        <translation>这台电脑没有 Strata 可用的密钥环。令牌在退出前有效，不会保存。</translation>
    </message>
    <message>
        <source>Kept in your system&apos;s keyring.</source>
        <translation>保存在系统密钥环中。</translation>
    </message>
</context>
<context>
    <name>Transcript</name>
    <message>
        <source>Conversation</source>
        <translation>对话</translation>
    </message>
    <message>
        <source>Up and Down go through the messages, Enter goes to the buttons of one, Left and Right to its versions</source>
        <translation>上下键浏览消息，回车进入消息的按钮，左右键切换版本</translation>
    </message>
    <message>
        <source>Jump to the latest</source>
        <translation>跳到最新</translation>
    </message>
    <message>
        <source>Answer</source>
        <translation>回答</translation>
    </message>
    <message>
        <source>You</source>
        <translation>您</translation>
    </message>
    <message>
        <source>Image {name}</source>
        <translation>图片 {name}</translation>
    </message>
    <message>
        <source>{who}: {text}</source>
        <translation>{who}:{text}</translation>
    </message>
</context>
<context>
    <name>Tray</name>
    <message>
        <source>Open Strata</source>
        <translation>打开 Strata</translation>
    </message>
    <message>
        <source>Quit Strata</source>
        <translation>退出 Strata</translation>
    </message>
    <message>
        <source>Nothing is under way</source>
        <translation>没有进行中的工作</translation>
    </message>
</context>
<context>
    <name>UpdateRow</name>
    <message>
        <source>Check now</source>
        <translation>立即检查</translation>
    </message>
    <message>
        <source>Check for a newer version</source>
        <translation>检查新版本</translation>
    </message>
    <message>
        <source>Open its page</source>
        <translation>打开其页面</translation>
    </message>
    <message>
        <source>This Strata runs from its source and does not know where newer ones are published.</source>
        <translation>此 Strata 从源代码运行，不知道新版本在哪里发布。</translation>
    </message>
    <message>
        <source>Checking…</source>
        <translation>正在检查…</translation>
    </message>
    <message>
        <source>Strata {version} is the newest.</source>
        <translation>Strata {version} 已是最新版本。</translation>
    </message>
    <message>
        <source>Strata {version} is available.</source>
        <translation>Strata {version} 已发布。</translation>
    </message>
</context>
<context>
    <name>Verdicts</name>
    <message>
        <source>Instant</source>
        <translation>即时</translation>
    </message>
    <message>
        <source>Comfortable</source>
        <translation>舒适</translation>
    </message>
    <message>
        <source>Slow</source>
        <translation>较慢</translation>
    </message>
    <message>
        <source>Overnight</source>
        <translation>需过夜</translation>
    </message>
    <message>
        <source>For days</source>
        <translation>需数日</translation>
    </message>
    <message>
        <source>Runs from your disk, about {token} per token, {answer} for a typical answer</source>
        <translation>从硬盘运行，每个词元大约 {token}，一个典型回答 {answer}</translation>
    </message>
    <message>
        <source>Runs from memory, about {token} per token, {answer} for a typical answer</source>
        <translation>从内存运行，每个词元大约 {token}，一个典型回答 {answer}</translation>
    </message>
    <message>
        <source>One block of this model needs {need} of memory at a time; {have} are free for it now</source>
        <translation>这个模型的一个块一次需要 {need} 内存；目前可用 {have}</translation>
    </message>
    <message>
        <source>This needs {need} on the drive while it is prepared and {floor} kept free; {have} are free</source>
        <translation>准备时需要硬盘空间 {need}，并保留 {floor}；目前可用 {have}</translation>
    </message>
    <message>
        <source>{size}/s</source>
        <translation>{size}/秒</translation>
    </message>
    <message>
        <source>Reads {size} a second</source>
        <translation>每秒读取 {size}</translation>
    </message>
    <message>
        <source>{milliseconds} ms</source>
        <translation>{milliseconds} 毫秒</translation>
    </message>
    <message>
        <source>{seconds} s</source>
        <translation>{seconds} 秒</translation>
    </message>
    <message>
        <source>{minutes} min</source>
        <translation>{minutes} 分钟</translation>
    </message>
    <message>
        <source>{hours} h {minutes} min</source>
        <translation>{hours} 小时 {minutes} 分钟</translation>
    </message>
    <message>
        <source>{days} d {hours} h</source>
        <translation>{days} 天 {hours} 小时</translation>
    </message>
</context>
<context>
    <name>Web</name>
    <message>
        <source>The list of versions at {host} is made for a newer Strata than this.</source>
        <translation>{host} 的版本列表是为更新版本的 Strata 制作的。</translation>
    </message>
    <message>
        <source>Get the newest Strata from where you got this one.</source>
        <translation>请从获取当前版本的地方获取最新版本的 Strata。</translation>
    </message>
    <message>
        <source>The list of versions at {host} is older than one that was seen before, so it is not used.</source>
        <translation>{host} 的版本列表比之前见过的更旧，因此未采用。</translation>
    </message>
    <message>
        <source>What {host} sent is not signed by the makers of Strata, so it is not used.</source>
        <translation>{host} 发来的内容没有 Strata 开发者的签名，因此未采用。</translation>
    </message>
    <message>
        <source>Try again later, or on another network. Nothing has changed.</source>
        <translation>请稍后或换一个网络重试。没有任何改动。</translation>
    </message>
    <message>
        <source>The proxy that is set for Strata or for the system cannot be used.</source>
        <translation>为 Strata 或系统设置的代理无法使用。</translation>
    </message>
    <message>
        <source>Set one whose address begins with http:// or https://.</source>
        <translation>请设置地址以 http:// 或 https:// 开头的代理。</translation>
    </message>
    <message>
        <source>Try again later.</source>
        <translation>请稍后重试。</translation>
    </message>
    <message>
        <source>{host} answered with an error ({status}).</source>
        <translation>{host} 返回了错误（{status}）。</translation>
    </message>
    <message>
        <source>The certificate shown for {host} is not trusted: something on the way reads the connection, or this computer&apos;s clock is wrong.</source>
        <translation>{host} 的证书不受信任：连接可能在途中被读取，或这台电脑的时钟不准。</translation>
    </message>
    <message>
        <source>Look at the clock, or use another network.</source>
        <translation>请检查时钟，或换一个网络。</translation>
    </message>
    <message>
        <source>Check that this computer is online.</source>
        <translation>请检查这台电脑是否联网。</translation>
    </message>
</context>
<context>
    <name>WelcomeStep</name>
    <message>
        <source>Chat with models bigger than your computer</source>
        <translation>与比您的电脑还大的模型对话</translation>
    </message>
    <message>
        <source>Strata keeps a model on your drive, cut into blocks, and reads each block just before it is needed. Large models answer slowly that way, but they answer, and you always see how long it will take.</source>
        <translation>Strata 把模型切分成块存放在硬盘上，在需要之前才读取每一块。大模型这样回答会比较慢，但确实能回答，而且您始终能看到还需要多久。</translation>
    </message>
    <message>
        <source>Everything stays here</source>
        <translation>一切都留在这里</translation>
    </message>
    <message>
        <source>Your chats and your models never leave this computer. Nothing is sent, nothing is counted.</source>
        <translation>您的对话和模型绝不会离开这台电脑。不发送任何内容，也不做任何统计。</translation>
    </message>
    <message>
        <source>Time is said before</source>
        <translation>时间提前告知</translation>
    </message>
    <message>
        <source>Seconds for every token on this very computer, before you decide on a model.</source>
        <translation>在您决定用哪个模型之前，就告诉您在这台电脑上每个词元需要多少秒。</translation>
    </message>
    <message>
        <source>Nothing is lost</source>
        <translation>什么都不会丢失</translation>
    </message>
    <message>
        <source>Close the window at any point, even now: Strata goes on where it was.</source>
        <translation>随时可以关闭窗口，现在也可以：Strata 会从中断处继续。</translation>
    </message>
    <message>
        <source>Set up</source>
        <translation>开始设置</translation>
    </message>
    <message>
        <source>Chat now with the small starter model</source>
        <translation>现在就用小型入门模型对话</translation>
    </message>
</context>
<context>
    <name>WizardPage</name>
    <message>
        <source>Add a model</source>
        <translation>添加模型</translation>
    </message>
</context>
<context>
    <name>Work</name>
    <message>
        <source>Getting the answer ready</source>
        <translation>正在准备回答</translation>
    </message>
    <message>
        <source>Reading the prompt: {share:.0%}</source>
        <translation>正在读取提示：{share:.0%}</translation>
    </message>
    <message>
        <source>Answering: token {token}, layer {block} of {blocks}</source>
        <translation>正在回答：第 {token} 个词元，第 {block} / {blocks} 层</translation>
    </message>
    <message>
        <source>{what} – next token in about {time}</source>
        <translation>{what} – 大约 {time} 后出现下一个词元</translation>
    </message>
    <message numerus="yes">
        <source>{what}; %n more waiting</source>
        <translation>
            <numerusform>{what}；另有 %n 个在等待</numerusform>
        </translation>
    </message>
    <message>
        <source>{title}: {share:.1%}</source>
        <translation>{title}:{share:.1%}</translation>
    </message>
    <message>
        <source>{title}: {share:.1%}, about {time} left</source>
        <translation>{title}：{share:.1%}，大约还需 {time}</translation>
    </message>
    <message>
        <source>Software for the graphics card</source>
        <translation>显卡所需的软件</translation>
    </message>
</context>
<context>
    <name>_Head</name>
    <message>
        <source>{title}: {text}</source>
        <translation>{title}:{text}</translation>
    </message>
    <message>
        <source>Needs a later version of Strata</source>
        <translation>需要更新版本的 Strata</translation>
    </message>
    <message>
        <source>Choose it to see what it costs here</source>
        <translation>选择它以查看在此的开销</translation>
    </message>
</context>
<context>
    <name>_SamplingRow</name>
    <message>
        <source>{title}: back to the model&apos;s default</source>
        <translation>{title}：恢复模型默认值</translation>
    </message>
    <message>
        <source>random</source>
        <translation>随机</translation>
    </message>
    <message>
        <source>default</source>
        <translation>默认</translation>
    </message>
</context>
<context>
    <name>_WholeImage</name>
    <message>
        <source>Image {name}</source>
        <translation>图片 {name}</translation>
    </message>
</context>
</TS>
