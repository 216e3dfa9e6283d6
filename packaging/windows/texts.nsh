; Every sentence of the installer, in each of its languages. $INSTDIR and other variables are filled in when it is shown.
; TEXT name English Chinese

!macro TEXT name english chinese
  LangString ${name} 1033 "${english}"
  LangString ${name} 2052 "${chinese}"
!macroend
!define TEXT "!insertmacro TEXT"

; ---- Installing ----
${TEXT} WelcomeTitle "Install Strata ${VERSION}" "安装 Strata ${VERSION}"
${TEXT} WelcomeText \
  "Strata runs language models on this computer, also models that do not fit into its memory.$\r$\n$\r$\nIt is installed for you alone and needs no administrator rights. A small model comes with it, so you can chat before you download anything." \
  "Strata 在这台电脑上运行语言模型，包括内存放不下的模型。$\r$\n$\r$\n它只为您安装，不需要管理员权限。随附一个小模型，无需下载任何东西就能开始对话。"
${TEXT} UpgradeText \
  "Strata $OldVersion is installed. Version ${VERSION} takes its place.$\r$\n$\r$\nYour models, chats and settings are kept." \
  "已安装 Strata $OldVersion，将由版本 ${VERSION} 替换。$\r$\n$\r$\n您的模型、对话和设置都会保留。"
${TEXT} FolderTitle "Where to install Strata" "安装位置"
${TEXT} FolderSubtitle "The suggested folder is right for nearly everybody." "建议的文件夹适合绝大多数人。"
${TEXT} FolderText \
  "Strata itself goes into this folder. Your models and chats are kept elsewhere, in $LOCALAPPDATA\Strata, and stay when Strata is upgraded or removed." \
  "Strata 程序会安装到此文件夹。您的模型和对话保存在另一处：$LOCALAPPDATA\Strata，升级或卸载 Strata 时都会保留。"
${TEXT} UnpackTitle "Installing Strata" "正在安装 Strata"
${TEXT} UnpackSubtitle "This takes a minute or two." "大约需要一两分钟。"
${TEXT} Unpacking "Unpacking Strata…" "正在解压 Strata…"
${TEXT} Finishing "Putting Strata in its place…" "正在完成安装…"
${TEXT} FinishTitle "Strata is installed" "Strata 已安装"
${TEXT} FinishText "You find it in the Start menu." "您可以在“开始”菜单中找到它。"
${TEXT} FinishRun "Start Strata" "启动 Strata"
${TEXT} FinishDesktop "Put a shortcut on the desktop" "在桌面上放置快捷方式"
${TEXT} AbortTitle "Strata was not installed" "Strata 未安装"
${TEXT} AbortSubtitle "What was installed before is unchanged." "之前安装的内容没有改变。"
${TEXT} ShortcutComment \
  "Chat with language models that are bigger than your computer's memory" "与超出电脑内存的大型语言模型对话"
${TEXT} ModelFile "Language model (GGUF)" "语言模型（GGUF）"

; ---- What can be in the way ----
${TEXT} OldWindows \
  "Strata needs 64-bit Windows 10, version 1809, or newer." "Strata 需要 64 位 Windows 10（版本 1809）或更高版本。"
${TEXT} SetupRuns \
  "Strata is being installed already. Wait until that has ended." "另一个 Strata 安装程序正在运行。请等它结束。"
${TEXT} Running "Strata is running. Quit it, then choose Retry." "Strata 正在运行。请先退出它，然后选择“重试”。"
${TEXT} InUse \
  "Files in $INSTDIR are in use, so nothing was changed. Close the programs and windows that have them open, then choose Retry." \
  "$INSTDIR 中的文件正在使用，因此没有做任何更改。请关闭打开这些文件的程序和窗口，然后选择“重试”。"
${TEXT} TooLong \
  "The name of this folder is $Amount characters long; Strata needs one of at most $Limit. Choose a shorter one." \
  "此文件夹的路径有 $Amount 个字符；Strata 最多允许 $Limit 个。请选择较短的路径。"
${TEXT} IsDataFolder \
  "$DataFolder is where your models and chats are kept. Choose another folder for the program." \
  "$DataFolder 用于保存您的模型和对话。请为程序选择另一个文件夹。"
${TEXT} NotStrata \
  "$INSTDIR holds something else. Choose a new or an empty folder." "$INSTDIR 中有其他内容。请选择新的或空的文件夹。"
${TEXT} NotWritable \
  "Strata cannot be written to $INSTDIR. Choose another folder." "无法写入 $INSTDIR。请选择另一个文件夹。"
${TEXT} TooLittleSpace \
  "Strata needs $Limit MB on this drive; $Amount MB are free. Free some space, or choose a folder on another drive." \
  "Strata 需要此驱动器上有 $Limit MB 空间；可用空间为 $Amount MB。请释放一些空间，或选择其他驱动器上的文件夹。"
${TEXT} Incomplete \
  "$Amount of $Limit files arrived; a virus scanner may have held back the others. Nothing was changed. Allow Strata there, then install it again." \
  "$Limit 个文件中只有 $Amount 个写入成功；其余的可能被杀毒软件拦截。没有做任何更改。请在杀毒软件中允许 Strata，然后重新安装。"

; ---- Removing ----
${TEXT} RemoveTitle "Remove Strata" "卸载 Strata"
${TEXT} RemoveSubtitle "Choose what is to go with it." "选择要一并删除的内容。"
${TEXT} RemoveProgram "Strata will be removed from $INSTDIR." "将从 $INSTDIR 卸载 Strata。"
${TEXT} RemoveModels "Also delete the models ($Amount)" "同时删除模型（$Amount）"
${TEXT} RemoveChats "Also delete my chats and settings, for good" "同时永久删除我的对话和设置"
${TEXT} RemoveKeeps \
  "What you leave unticked stays in $DataFolder, and Strata finds it there when you install it again. Models that you keep in other folders stay where they are." \
  "未勾选的内容保留在 $DataFolder，重新安装后 Strata 会在那里找到它们。保存在其他文件夹中的模型不受影响。"
${TEXT} Removing "Removing Strata…" "正在卸载 Strata…"
${TEXT} RemovedTitle "Strata is removed" "Strata 已卸载"
${TEXT} Kept "Kept: $DataFolder" "已保留：$DataFolder"
${TEXT} NothingHere "There is no Strata in $INSTDIR." "$INSTDIR 中没有 Strata。"
