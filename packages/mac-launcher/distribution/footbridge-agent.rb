# The Homebrew cask. The release job replaces VERSION, SHA256 and REPOSITORY.
cask "footbridge-agent" do
  version "VERSION"
  sha256 "SHA256"

  url "https://github.com/REPOSITORY/releases/download/v#{version}/footbridge-agent-#{version}.zip"
  name "Footbridge Agent"
  desc "Connects Messages to a Footbridge service"
  homepage "https://github.com/REPOSITORY"

  depends_on macos: ">= :ventura"

  app "Footbridge Agent.app", target: "#{Dir.home}/Applications/Footbridge Agent.app"

  uninstall launchctl: "com.footbridge.agent"

  zap trash: [
    "~/Library/Application Support/Footbridge",
    "~/Library/LaunchAgents/com.footbridge.agent.plist",
    "~/Library/Logs/Footbridge",
  ]

  caveats <<~EOS
    To pair this Mac and grant the permissions, run:
      npx footbridge-agent@latest setup
  EOS
end
