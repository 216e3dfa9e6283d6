# Signs one file, whatever its name, or every program and library in a folder that has no valid signature yet.
#   $env:CERTIFICATE (a .pfx, base64) and $env:PASSWORD;  sign.ps1 FOLDER-OR-FILE
param([Parameter(Mandatory)] [string] $Place)
$ErrorActionPreference = 'Stop'

$signtool = Get-ChildItem "${env:ProgramFiles(x86)}\Windows Kits\10\bin\*\x64\signtool.exe" |
    Sort-Object FullName | Select-Object -Last 1
if (-not $signtool) { throw 'signtool is not installed: it comes with the Windows SDK.' }

if (Test-Path -LiteralPath $Place -PathType Leaf) {
    $unsigned = @((Get-Item -LiteralPath $Place).FullName)
} else {
    $unsigned = @(Get-ChildItem -LiteralPath $Place -Recurse -File |
        Where-Object Extension -in '.exe', '.dll', '.pyd' |
        Where-Object { (Get-AuthenticodeSignature -LiteralPath $_.FullName).Status -ne 'Valid' } |
        ForEach-Object FullName)
}
if (-not $unsigned) { throw "There is nothing to sign in $Place." }

$pfx = Join-Path ([IO.Path]::GetTempPath()) 'strata-signing.pfx'
try {
    [IO.File]::WriteAllBytes($pfx, [Convert]::FromBase64String($env:CERTIFICATE))
    for ($at = 0; $at -lt $unsigned.Count; $at += 50) {
        $files = $unsigned[$at..([Math]::Min($at + 49, $unsigned.Count - 1))]
        & $signtool.FullName sign /q /f $pfx /p $env:PASSWORD /fd SHA256 /tr http://timestamp.digicert.com /td SHA256 @files
        if ($LASTEXITCODE -ne 0) { throw "signtool ended with $LASTEXITCODE." }
    }
} finally {
    Remove-Item $pfx -ErrorAction SilentlyContinue
}
Write-Output "$($unsigned.Count) files signed."
