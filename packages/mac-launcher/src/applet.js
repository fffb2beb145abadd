// The main script of the applet that replaces the launcher on a Mac that does not start it. Like the launcher, it starts the agent
// as a child and waits for it.
(() => {
  ObjC.import('Foundation');
  const home = ObjC.unwrap($.NSHomeDirectory());
  const folder = `${home}/Library/Application Support/Footbridge/current`;
  const task = $.NSTask.launchedTaskWithLaunchPathArguments(`${folder}/node`, [`${folder}/agent.mjs`, 'run']);
  // In JavaScript for Automation a method without parameters is called by reading it.
  return task.waitUntilExit;
})();
