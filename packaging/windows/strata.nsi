; The Windows installer: for one user, without administrator rights. Compiled by nsis.py, which writes
; definitions.nsh (what is installed and where that lies here); every text is in texts.nsh, in both languages.
;
;   setup.exe /S [/D=C:\folder]         silent; /D comes last and unquoted. No shortcut on the desktop
;   uninstall.exe /S                    silent; models, chats and settings stay. Returns at once and goes on in a copy
;   uninstall.exe /S _?=C:\folder       returns when it has ended; leaves itself
;   uninstall.exe /S /DELETE-MODELS /DELETE-CHATS
;
; Exit codes: 0 done, 1 cancelled, 2 cut short, 3 Strata runs, 4 too little space, 5 unsuitable folder, 6 files in use,
; 7 not all files arrived, 8 unsuitable Windows, 9 another installation is under way.
;
; The new version is unpacked beside the old one (Strata.new) and put in its place by renaming folders, so that whatever
; fails leaves the old one whole. installed.ini in the program's folder lists what belongs to it: only that is removed.

!include "definitions.nsh"
Target ${TARGET}
SetCompressor /SOLID lzma
SetCompressorDictSize 64

!include "MUI2.nsh"
!include "FileFunc.nsh"
!include "LogicLib.nsh"
!include "WinVer.nsh"
!include "x64.nsh"

!define UNINSTALL_KEY "Software\Microsoft\Windows\CurrentVersion\Uninstall\Strata"
!define CLASSES "Software\Classes"
!define SYNCHRONIZE 0x00100000
!define ERROR_ALREADY_EXISTS 183
!define SHCNE_ASSOCCHANGED 0x08000000
; Windows 10, version 1809: what Qt asks for.
!define OLDEST_BUILD 17763
!define RENAME_TRIES 40

Name "Strata"
OutFile "${OUTPUT}"
InstallDir "$LOCALAPPDATA\Programs\Strata"
InstallDirRegKey HKCU "${UNINSTALL_KEY}" "InstallLocation"
RequestExecutionLevel user
ManifestDPIAware true
ManifestLongPathAware true
ManifestSupportedOS all
!ifdef SIGN_COMMAND
  !uninstfinalize '${SIGN_COMMAND}' = 0
!endif
AllowSkipFiles off
ShowInstDetails nevershow
ShowUninstDetails nevershow
BrandingText "Strata ${VERSION}"
SetFont /LANG=1033 "Segoe UI" 9
SetFont /LANG=2052 "Microsoft YaHei UI" 9

VIProductVersion "${VERSION_NUMBERS}"
VIFileVersion "${VERSION_NUMBERS}"
VIAddVersionKey /LANG=1033 "ProductName" "Strata"
VIAddVersionKey /LANG=1033 "ProductVersion" "${VERSION}"
VIAddVersionKey /LANG=1033 "FileVersion" "${VERSION}"
VIAddVersionKey /LANG=1033 "FileDescription" "Strata Setup"
VIAddVersionKey /LANG=1033 "CompanyName" "${PUBLISHER}"
VIAddVersionKey /LANG=1033 "LegalCopyright" "${PUBLISHER}, MIT licence"

Var OldVersion
Var OldFolder
Var Problem
Var ProblemCode
Var Amount
Var Limit
Var From
Var To
Var Succeeded
Var WelcomeText
Var DataFolder
Var ModelsBox
Var ChatsBox
Var DeleteModels
Var DeleteChats
Var KeptText

; ---- Pages ----------------------------------------------------------------------------------------------------------

!define MUI_ICON "${ICON}"
!define MUI_UNICON "${ICON}"
!define MUI_WELCOMEFINISHPAGE_BITMAP "${SIDE_PICTURE}"
!define MUI_HEADERIMAGE
!define MUI_HEADERIMAGE_RIGHT
!define MUI_HEADERIMAGE_BITMAP "${HEAD_PICTURE}"
!define MUI_HEADERIMAGE_UNBITMAP "${HEAD_PICTURE}"

!define MUI_WELCOMEPAGE_TITLE "$(WelcomeTitle)"
!define MUI_WELCOMEPAGE_TEXT "$WelcomeText"
!define MUI_PAGE_CUSTOMFUNCTION_PRE PrepareWelcome
!define MUI_PAGE_CUSTOMFUNCTION_SHOW ShowWelcome
!insertmacro MUI_PAGE_WELCOME

!define MUI_PAGE_HEADER_TEXT "$(FolderTitle)"
!define MUI_PAGE_HEADER_SUBTEXT "$(FolderSubtitle)"
!define MUI_DIRECTORYPAGE_TEXT_TOP "$(FolderText)"
!define MUI_PAGE_CUSTOMFUNCTION_PRE SkipFolderOfUpgrade
!define MUI_PAGE_CUSTOMFUNCTION_LEAVE LeaveFolder
!insertmacro MUI_PAGE_DIRECTORY

!define MUI_PAGE_HEADER_TEXT "$(UnpackTitle)"
!define MUI_PAGE_HEADER_SUBTEXT "$(UnpackSubtitle)"
!define MUI_INSTFILESPAGE_FINISHHEADER_TEXT "$(FinishTitle)"
!define MUI_INSTFILESPAGE_FINISHHEADER_SUBTEXT " "
!define MUI_INSTFILESPAGE_ABORTHEADER_TEXT "$(AbortTitle)"
!define MUI_INSTFILESPAGE_ABORTHEADER_SUBTEXT "$(AbortSubtitle)"
!insertmacro MUI_PAGE_INSTFILES

!define MUI_FINISHPAGE_TITLE "$(FinishTitle)"
!define MUI_FINISHPAGE_TEXT "$(FinishText)"
!define MUI_FINISHPAGE_RUN "$INSTDIR\Strata.exe"
!define MUI_FINISHPAGE_RUN_TEXT "$(FinishRun)"
!define MUI_FINISHPAGE_SHOWREADME
!define MUI_FINISHPAGE_SHOWREADME_NOTCHECKED
!define MUI_FINISHPAGE_SHOWREADME_TEXT "$(FinishDesktop)"
!define MUI_FINISHPAGE_SHOWREADME_FUNCTION AddDesktopShortcut
!insertmacro MUI_PAGE_FINISH

UninstPage custom un.ShowChoice un.TakeChoice
!define MUI_PAGE_HEADER_TEXT "$(RemoveTitle)"
!define MUI_PAGE_HEADER_SUBTEXT " "
!define MUI_INSTFILESPAGE_FINISHHEADER_TEXT "$(RemovedTitle)"
!define MUI_INSTFILESPAGE_FINISHHEADER_SUBTEXT "$KeptText"
!insertmacro MUI_UNPAGE_INSTFILES

!insertmacro MUI_LANGUAGE "English"
!insertmacro MUI_LANGUAGE "SimpChinese"
!include "texts.nsh"

; ---- What installer and uninstaller share ---------------------------------------------------------------------------

!macro LEAVE code text
  MessageBox MB_OK|MB_ICONSTOP "${text}" /SD IDOK
  SetErrorLevel ${code}
  Quit
!macroend

!macro SHARED un
Function ${un}RequireStopped
  ${Do}
    ; The program makes this object when it starts (app/running_mark.py); it goes with the process.
    System::Call 'kernel32::OpenMutexW(i ${SYNCHRONIZE}, i 0, w "${RUNNING_MARK}") p .r0'
    ${If} $0 == 0
      ${ExitDo}
    ${EndIf}
    System::Call 'kernel32::CloseHandle(p r0)'
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(Running)" /SD IDCANCEL IDRETRY +3
      SetErrorLevel 3
      Quit
  ${Loop}
FunctionEnd

; A program that runs cannot be written to, whether or not it says that it runs.
Function ${un}RequireUnused
  ${Do}
    ${IfNot} ${FileExists} "$INSTDIR\Strata.exe"
      ${ExitDo}
    ${EndIf}
    ClearErrors
    FileOpen $0 "$INSTDIR\Strata.exe" a
    ${IfNot} ${Errors}
      FileClose $0
      ${ExitDo}
    ${EndIf}
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(InUse)" /SD IDCANCEL IDRETRY +3
      SetErrorLevel 6
      Quit
  ${Loop}
FunctionEnd

; Renames the folder $From to $To; $Succeeded says whether. Windows refuses while a file inside is open; a virus scanner
; that looks at what is new has it open for a moment.
Function ${un}MoveFolder
  StrCpy $Succeeded 0
  ${For} $R0 1 ${RENAME_TRIES}
    ClearErrors
    Rename "$From" "$To"
    ${IfNot} ${Errors}
      StrCpy $Succeeded 1
      ${ExitFor}
    ${EndIf}
    Sleep 250
  ${Next}
FunctionEnd

; Deletes from the folder $From what installed.ini there lists, and the folder where nothing else is in it.
Function ${un}RemoveProgram
  StrCpy $R0 0
  StrCpy $R2 0
  ${Do}
    IntOp $R0 $R0 + 1
    ReadINIStr $R1 "$From\installed.ini" "Installed" "$R0"
    ${If} $R1 == ""
      ${ExitDo}
    ${EndIf}
    ${If} ${FileExists} "$From\$R1\*.*"
      RMDir /r "$From\$R1"
    ${Else}
      Delete "$From\$R1"
    ${EndIf}
    ${If} ${FileExists} "$From\$R1"
      IntOp $R2 $R2 + 1
    ${EndIf}
  ${Loop}
  ${If} $R2 == 0
    Delete "$From\installed.ini"
  ${EndIf}
  RMDir "$From\models"
  RMDir "$From"
  ClearErrors
FunctionEnd
!macroend
!insertmacro SHARED ""
!insertmacro SHARED "un."

; ---- The installer --------------------------------------------------------------------------------------------------

Function .onInit
  ${IfNot} ${RunningX64}
  ${OrIfNot} ${AtLeastBuild} ${OLDEST_BUILD}
    !insertmacro LEAVE 8 "$(OldWindows)"
  ${EndIf}
  System::Call 'kernel32::CreateMutexW(p 0, i 0, w "${RUNNING_MARK}-setup") p .r0 ?e'
  Pop $0
  ${If} $0 == ${ERROR_ALREADY_EXISTS}
    !insertmacro LEAVE 9 "$(SetupRuns)"
  ${EndIf}
  Call RequireStopped
  StrCpy $0 $INSTDIR "" -1
  ${If} $0 == "\"
    StrCpy $INSTDIR $INSTDIR -1
  ${EndIf}
  ReadRegStr $OldFolder HKCU "${UNINSTALL_KEY}" "InstallLocation"
  ReadRegStr $OldVersion HKCU "${UNINSTALL_KEY}" "DisplayVersion"
  ${IfNot} ${FileExists} "$OldFolder\installed.ini"
    StrCpy $OldFolder ""
  ${EndIf}
FunctionEnd

Function PrepareWelcome
  ${If} $OldFolder == ""
    StrCpy $WelcomeText "$(WelcomeText)"
  ${Else}
    StrCpy $WelcomeText "$(UpgradeText)"
  ${EndIf}
FunctionEnd

Function ShowWelcome
  ${If} $OldFolder != ""
    ; The page of the folder is skipped.
    GetDlgItem $0 $HWNDPARENT 1
    SendMessage $0 ${WM_SETTEXT} 0 "STR:$(^InstallBtn)"
  ${EndIf}
FunctionEnd

Function SkipFolderOfUpgrade
  ${If} $OldFolder != ""
  ${AndIf} $OldFolder == $INSTDIR
    Abort
  ${EndIf}
FunctionEnd

Function LeaveFolder
  Call CheckFolder
  ${If} $Problem != ""
    MessageBox MB_OK|MB_ICONEXCLAMATION "$Problem"
    Abort
  ${EndIf}
FunctionEnd

; $Problem says why $INSTDIR cannot be used, "" where it can; $ProblemCode is the exit code for that.
Function CheckFolder
  StrCpy $Problem ""
  StrCpy $ProblemCode 5
  StrCpy $DataFolder "$LOCALAPPDATA\Strata"

  StrLen $0 $INSTDIR
  ${If} $0 > ${LONGEST_FOLDER}
    StrCpy $Amount $0
    StrCpy $Limit ${LONGEST_FOLDER}
    StrCpy $Problem "$(TooLong)"
    Return
  ${EndIf}

  ; The uninstaller removes the program's folder: the data must not be in it.
  StrLen $0 "$DataFolder\"
  StrCpy $1 "$INSTDIR\" $0
  ${If} $1 == "$DataFolder\"
    StrCpy $Problem "$(IsDataFolder)"
    Return
  ${EndIf}

  ${IfNot} ${FileExists} "$INSTDIR\installed.ini"
    ${DirState} "$INSTDIR" $0
    ${If} $0 == 1
      StrCpy $Problem "$(NotStrata)"
      Return
    ${EndIf}
  ${EndIf}

  ; The nearest folder above that exists: the system tells the free space of no other.
  StrCpy $0 $INSTDIR
  ${DoUntil} ${FileExists} "$0\*.*"
    ${GetParent} $0 $0
    ${If} $0 == ""
      StrCpy $Problem "$(NotWritable)"
      Return
    ${EndIf}
  ${Loop}
  System::Call 'kernel32::GetDiskFreeSpaceExW(w "$0\", *l .r1, p 0, p 0) i .r2'
  ${If} $2 == 0
    StrCpy $Problem "$(NotWritable)"
    Return
  ${EndIf}
  System::Int64Op $1 / 1048576
  Pop $Amount
  StrCpy $Limit ${NEEDED_MB}
  System::Int64Op $Amount < $Limit
  Pop $0
  ${If} $0 != 0
    StrCpy $Problem "$(TooLittleSpace)"
    StrCpy $ProblemCode 4
  ${EndIf}
FunctionEnd

; Finishes what a run that was cut short has left beside $INSTDIR.
Function TidyUp
  ${If} ${FileExists} "$INSTDIR.old\installed.ini"
    ${IfNot} ${FileExists} "$INSTDIR\*.*"
      Rename "$INSTDIR.old" "$INSTDIR"
    ${Else}
      StrCpy $From "$INSTDIR.old"
      Call RemoveProgram
    ${EndIf}
  ${EndIf}
  StrCpy $From "$INSTDIR.new"
  Call RemoveProgram
  ClearErrors
FunctionEnd

Function Unpack
  ClearErrors
  CreateDirectory "$INSTDIR.new"
  SetOutPath "$INSTDIR.new"
  ; First, so that what is cut short can be removed.
  File "/oname=installed.ini" "${INSTALLED_LIST}"
  ${If} ${Errors}
    SetOutPath "$TEMP"
    !insertmacro LEAVE 5 "$(NotWritable)"
  ${EndIf}
  File /r "${PAYLOAD_FILES}"
  WriteUninstaller "$INSTDIR.new\uninstall.exe"
  ; The folder a process is in cannot be renamed.
  SetOutPath "$TEMP"
  ${GetSize} "$INSTDIR.new" "/S=0M" $0 $Amount $1
  ${If} $Amount != ${FILES}
    StrCpy $From "$INSTDIR.new"
    Call RemoveProgram
    StrCpy $Limit ${FILES}
    !insertmacro LEAVE 7 "$(Incomplete)"
  ${EndIf}
FunctionEnd

Function PutInPlace
  ${Do}
    StrCpy $Succeeded 1
    ${If} ${FileExists} "$INSTDIR\installed.ini"
      StrCpy $From "$INSTDIR"
      StrCpy $To "$INSTDIR.old"
      Call MoveFolder
    ${Else}
      RMDir "$INSTDIR"
    ${EndIf}
    ${If} $Succeeded == 1
      StrCpy $From "$INSTDIR.new"
      StrCpy $To "$INSTDIR"
      Call MoveFolder
      ${If} $Succeeded == 1
        ${ExitDo}
      ${EndIf}
      Rename "$INSTDIR.old" "$INSTDIR"
    ${EndIf}
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(InUse)" /SD IDCANCEL IDRETRY again
      StrCpy $From "$INSTDIR.new"
      Call RemoveProgram
      SetErrorLevel 6
      Quit
    again:
  ${Loop}
FunctionEnd

; What somebody has put into the old program's folder goes to the new one.
!macro MOVE_REST sub
  FindFirst $0 $1 "$INSTDIR.old\${sub}*.*"
  ${DoUntil} $1 == ""
    ${If} $1 != "."
    ${AndIf} $1 != ".."
      Rename "$INSTDIR.old\${sub}$1" "$INSTDIR\${sub}$1"
    ${EndIf}
    FindNext $0 $1
  ${Loop}
  FindClose $0
  RMDir "$INSTDIR.old\${sub}"
!macroend

Section "Strata"
  ; NSIS does not count what a function unpacks.
  AddSize ${SIZE_KB}
  Call RequireStopped
  Call TidyUp
  Call CheckFolder
  ${If} $Problem != ""
    !insertmacro LEAVE $ProblemCode "$Problem"
  ${EndIf}
  Call RequireUnused
  SetDetailsPrint textonly
  DetailPrint "$(Unpacking)"
  SetDetailsPrint none
  Call Unpack
  Call RequireStopped
  SetDetailsPrint textonly
  DetailPrint "$(Finishing)"
  SetDetailsPrint none
  Call PutInPlace
  ${If} ${FileExists} "$INSTDIR.old\*.*"
    StrCpy $From "$INSTDIR.old"
    Call RemoveProgram
    !insertmacro MOVE_REST "models\"
    !insertmacro MOVE_REST ""
  ${EndIf}
  ${If} $OldFolder != ""
  ${AndIf} $OldFolder != $INSTDIR
    StrCpy $From $OldFolder
    Call RemoveProgram
  ${EndIf}
  Call Register
SectionEnd

Function Register
  ; Where a shortcut starts the program, and where file dialogs then begin.
  SetOutPath "$PROFILE"
  CreateShortcut "$SMPROGRAMS\Strata.lnk" "$INSTDIR\Strata.exe" "" "" "" "" "" "$(ShortcutComment)"
  ${If} ${FileExists} "$DESKTOP\Strata.lnk"
    Call AddDesktopShortcut
  ${EndIf}

  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayName" "Strata"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "Publisher" "${PUBLISHER}"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayIcon" "$INSTDIR\Strata.exe"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "UninstallString" '"$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL_KEY}" "QuietUninstallString" '"$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "EstimatedSize" ${SIZE_KB}
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoRepair" 1

  ; Strata is offered for .gguf files; what another program has been chosen for stays so.
  WriteRegStr HKCU "${CLASSES}\Strata.gguf" "" "$(ModelFile)"
  WriteRegStr HKCU "${CLASSES}\Strata.gguf\DefaultIcon" "" "$INSTDIR\Strata.exe,0"
  WriteRegStr HKCU "${CLASSES}\Strata.gguf\shell\open\command" "" '"$INSTDIR\Strata.exe" "%1"'
  WriteRegStr HKCU "${CLASSES}\.gguf\OpenWithProgids" "Strata.gguf" ""
  Call TellShell
FunctionEnd

Function AddDesktopShortcut
  CreateShortcut "$DESKTOP\Strata.lnk" "$INSTDIR\Strata.exe" "" "" "" "" "" "$(ShortcutComment)"
FunctionEnd

Function TellShell
  System::Call 'shell32::SHChangeNotify(i ${SHCNE_ASSOCCHANGED}, i 0, p 0, p 0)'
FunctionEnd

; A file could not be written: the drive is full, or somebody chose to stop.
Function .onInstFailed
  SetOutPath "$TEMP"
  StrCpy $From "$INSTDIR.new"
  Call RemoveProgram
FunctionEnd

; ---- The uninstaller ------------------------------------------------------------------------------------------------

Function un.onInit
  StrCpy $DataFolder "$LOCALAPPDATA\Strata"
  StrCpy $DeleteModels 0
  StrCpy $DeleteChats 0
  ${GetParameters} $0
  ClearErrors
  ${GetOptions} $0 "/DELETE-MODELS" $1
  ${IfNot} ${Errors}
    StrCpy $DeleteModels ${BST_CHECKED}
  ${EndIf}
  ClearErrors
  ${GetOptions} $0 "/DELETE-CHATS" $1
  ${IfNot} ${Errors}
    StrCpy $DeleteChats ${BST_CHECKED}
  ${EndIf}
  ${IfNot} ${FileExists} "$INSTDIR\installed.ini"
    !insertmacro LEAVE 5 "$(NothingHere)"
  ${EndIf}
  Call un.RequireStopped
FunctionEnd

Function un.ShowChoice
  !insertmacro MUI_HEADER_TEXT "$(RemoveTitle)" "$(RemoveSubtitle)"
  nsDialogs::Create 1018
  Pop $0
  ${NSD_CreateLabel} 0 0 100% 22u "$(RemoveProgram)"
  Pop $0
  Call un.MeasureModels
  ${NSD_CreateCheckBox} 0 34u 100% 12u "$(RemoveModels)"
  Pop $ModelsBox
  ${NSD_SetState} $ModelsBox $DeleteModels
  ${NSD_CreateCheckBox} 0 52u 100% 12u "$(RemoveChats)"
  Pop $ChatsBox
  ${NSD_SetState} $ChatsBox $DeleteChats
  ${NSD_CreateLabel} 0 76u 100% 44u "$(RemoveKeeps)"
  Pop $0
  ${IfNot} ${FileExists} "$DataFolder\*.*"
    EnableWindow $ModelsBox 0
    EnableWindow $ChatsBox 0
  ${EndIf}
  nsDialogs::Show
FunctionEnd

Function un.TakeChoice
  ${NSD_GetState} $ModelsBox $DeleteModels
  ${NSD_GetState} $ChatsBox $DeleteChats
FunctionEnd

; $Amount is the size of the models and of what was being downloaded, to be read: 740 MB, 12.3 GB.
Function un.MeasureModels
  ${GetSize} "$DataFolder\models" "/S=0M" $0 $1 $2
  ${GetSize} "$DataFolder\downloads" "/S=0M" $3 $1 $2
  ClearErrors
  IntOp $0 $0 + $3
  ${If} $0 < 1000
    StrCpy $Amount "$0 MB"
  ${Else}
    IntOp $1 $0 / 1000
    IntOp $2 $0 % 1000
    IntOp $2 $2 / 100
    StrCpy $Amount "$1.$2 GB"
  ${EndIf}
FunctionEnd

Section "un.Strata"
  SetOutPath "$TEMP"
  Call un.RequireStopped
  Call un.RequireUnused
  ; Renamed first: Windows refuses that while anything in it is open, and then nothing is lost.
  ${Do}
    StrCpy $From "$INSTDIR"
    StrCpy $To "$INSTDIR.old"
    ${If} $EXEDIR == $INSTDIR
      ; Told to stay where it is (_?=) and to be waited for: then it and installed.ini are what is left.
      StrCpy $To "$INSTDIR"
      ${ExitDo}
    ${EndIf}
    Call un.MoveFolder
    ${If} $Succeeded == 1
      ${ExitDo}
    ${EndIf}
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(InUse)" /SD IDCANCEL IDRETRY again
      SetErrorLevel 6
      Quit
    again:
  ${Loop}
  SetDetailsPrint textonly
  DetailPrint "$(Removing)"
  SetDetailsPrint none
  StrCpy $From $To
  Call un.RemoveProgram
  ; Only what is not ours is left, or nothing.
  Rename "$INSTDIR.old" "$INSTDIR"

  Delete "$SMPROGRAMS\Strata.lnk"
  Delete "$DESKTOP\Strata.lnk"
  DeleteRegKey HKCU "${UNINSTALL_KEY}"
  DeleteRegKey HKCU "${CLASSES}\Strata.gguf"
  DeleteRegValue HKCU "${CLASSES}\.gguf\OpenWithProgids" "Strata.gguf"
  DeleteRegKey /ifempty HKCU "${CLASSES}\.gguf\OpenWithProgids"
  DeleteRegKey /ifempty HKCU "${CLASSES}\.gguf"
  System::Call 'shell32::SHChangeNotify(i ${SHCNE_ASSOCCHANGED}, i 0, p 0, p 0)'

  Call un.RemoveData
  ${If} ${FileExists} "$DataFolder\*.*"
    StrCpy $KeptText "$(Kept)"
  ${Else}
    StrCpy $KeptText " "
  ${EndIf}
  SetDetailsPrint textonly
  DetailPrint "$(RemovedTitle)"
SectionEnd

Function un.RemoveData
  ; Software for a graphics card, which was fetched for this program alone.
  RMDir /r "$DataFolder\runtimes"
  ${If} $DeleteModels == ${BST_CHECKED}
    RMDir /r "$DataFolder\models"
    RMDir /r "$DataFolder\downloads"
  ${EndIf}
  ${If} $DeleteChats == ${BST_CHECKED}
    FindFirst $0 $1 "$DataFolder\*.*"
    ${DoUntil} $1 == ""
      ${If} $1 != "."
      ${AndIf} $1 != ".."
      ${AndIf} $1 != "models"
      ${AndIf} $1 != "downloads"
        ${If} ${FileExists} "$DataFolder\$1\*.*"
          RMDir /r "$DataFolder\$1"
        ${Else}
          Delete "$DataFolder\$1"
        ${EndIf}
      ${EndIf}
      FindNext $0 $1
    ${Loop}
    FindClose $0
  ${EndIf}
  RMDir "$DataFolder"
  ClearErrors
FunctionEnd
