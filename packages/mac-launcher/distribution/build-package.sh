#!/bin/sh
# Builds the signed and notarized app as an installer package and as a zip archive for the cask. Runs on a Mac with the command line
# tools of Xcode.
#
#   build-package.sh VERSION FOLDER
#
# APP_IDENTITY        "Developer ID Application: …" in the keychain
# INSTALLER_IDENTITY  "Developer ID Installer: …" in the keychain
# NOTARY_PROFILE      a profile that `xcrun notarytool store-credentials` saved
#
# A Developer ID gives the app another identity than the ad-hoc signature of the npm package: an owner who changes from one to the
# other grants the permissions again, once. `footbridge-agent setup` keeps an app that is already there.
set -eu

version=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
launcher=$(dirname "$here")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

app="$work/root/Applications/Footbridge Agent.app"
mkdir -p "$app/Contents/MacOS" "$folder"
cp "$launcher/src/Info.plist" "$app/Contents/Info.plist"
lipo -create "$launcher/prebuilt/arm64/footbridge-agent" "$launcher/prebuilt/x86_64/footbridge-agent" \
  -output "$app/Contents/MacOS/footbridge-agent"
chmod 755 "$app/Contents/MacOS/footbridge-agent"
codesign --force --timestamp --options runtime --entitlements "$here/entitlements.plist" \
  --sign "$APP_IDENTITY" "$app"
codesign --verify --strict --verbose=2 "$app"

zip="$folder/footbridge-agent-$version.zip"
ditto -c -k --keepParent "$app" "$zip"
xcrun notarytool submit "$zip" --keychain-profile "$NOTARY_PROFILE" --wait
xcrun stapler staple "$app"
rm "$zip"
ditto -c -k --keepParent "$app" "$zip"

package="$folder/footbridge-agent-$version.pkg"
pkgbuild --root "$work/root" --identifier com.footbridge.agent --version "$version" \
  --install-location / "$work/app.pkg"
productbuild --distribution "$here/distribution.xml" --package-path "$work" --sign "$INSTALLER_IDENTITY" "$package"
xcrun notarytool submit "$package" --keychain-profile "$NOTARY_PROFILE" --wait
xcrun stapler staple "$package"
spctl --assess --type install --verbose "$package"
