# Installs silently, runs the installed program's own test, removes it again, and looks whether it is gone.
#   try_installer.ps1 FOLDER    with one Strata-…-setup.exe in it
param([Parameter(Mandatory)] [string] $Folder)
$ErrorActionPreference = 'Stop'

$setup = @(Get-ChildItem $Folder -Filter 'Strata-*-setup.exe')
if ($setup.Count -ne 1) { throw "$($setup.Count) installers in ${Folder}; one was expected." }
$place = Join-Path $env:LOCALAPPDATA 'Programs\Strata'
$program = Join-Path $place 'Strata.exe'

$done = Start-Process $setup[0].FullName -ArgumentList '/S' -Wait -PassThru
if ($done.ExitCode -ne 0) { throw "The installer ended with $($done.ExitCode)." }
if (-not (Test-Path $program)) { throw "$program is not there." }

# A program with windows has no standard output here.
$report = Join-Path $env:TEMP 'strata-selftest.txt'
$done = Start-Process $program -ArgumentList '--selftest', '--report', "`"$report`"" -Wait -PassThru
Get-Content $report -Encoding utf8
if ($done.ExitCode -ne 0) { throw "The installed program's test ended with $($done.ExitCode)." }

$uninstaller = Get-ChildItem $place -Filter 'un*.exe' | Select-Object -First 1
if (-not $uninstaller) { throw "There is no uninstaller in $place." }
# It copies itself elsewhere and returns at once, unless it is told where it is.
$done = Start-Process $uninstaller.FullName -ArgumentList '/S', "_?=$place" -Wait -PassThru
if ($done.ExitCode -ne 0) { throw "The uninstaller ended with $($done.ExitCode)." }
if (Test-Path $program) { throw "$program is still there." }
Write-Output 'Installed, tested and removed.'
