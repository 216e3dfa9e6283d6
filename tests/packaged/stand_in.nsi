; Stands in for Strata.exe where no Windows program can be frozen: runs until the file "stop" is in the temporary folder.
;   Strata.exe --marked      says that it runs, as app/running_mark.py does
Target amd64-unicode
OutFile "${OUTPUT}"
Icon "${ICON}"
SilentInstall silent
RequestExecutionLevel user
!include "FileFunc.nsh"
!include "LogicLib.nsh"

Section
  ${GetParameters} $0
  ${If} $0 == "--marked"
    System::Call 'kernel32::CreateMutexW(p 0, i 0, w "${MARK}") p .r1'
  ${EndIf}
  FileOpen $2 "$TEMP\started" w
  FileClose $2
  ${DoUntil} ${FileExists} "$TEMP\stop"
    Sleep 100
  ${Loop}
SectionEnd
