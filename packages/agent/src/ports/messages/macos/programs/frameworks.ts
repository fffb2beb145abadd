import type { JxaAccessibility } from './jxa-accessibility.ts';

declare const ObjC: JxaAccessibility['ObjC'];

// Imported by every module that calls a function of these frameworks, so that the bindings are there first.
for (const framework of ['Foundation', 'AppKit', 'ApplicationServices', 'CoreGraphics'])
  ObjC.import(framework);
// The default bindings of these functions fail: JavaScript for Automation cannot convert their pointers.
ObjC.bindFunction('AXIsProcessTrusted', ['bool', []]);
ObjC.bindFunction('AXUIElementCreateApplication', ['id', ['int']]);
ObjC.bindFunction('AXUIElementSetMessagingTimeout', ['int', ['id', 'float']]);
ObjC.bindFunction('AXUIElementCopyAttributeValue', ['int', ['id', 'id', 'id*']]);
ObjC.bindFunction('AXUIElementCopyActionNames', ['int', ['id', 'id*']]);
ObjC.bindFunction('AXUIElementSetAttributeValue', ['int', ['id', 'id', 'id']]);
ObjC.bindFunction('AXUIElementPerformAction', ['int', ['id', 'id']]);
ObjC.bindFunction('CGSessionCopyCurrentDictionary', ['id', []]);
ObjC.bindFunction('CGEventSourceSecondsSinceLastEventType', ['double', ['int', 'int']]);
ObjC.bindFunction('CGEventCreateKeyboardEvent', ['id', ['id', 'int', 'bool']]);
ObjC.bindFunction('CGEventPost', ['void', ['int', 'id']]);
