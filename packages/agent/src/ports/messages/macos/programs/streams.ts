import type { Jxa } from './jxa.ts';

declare const ObjC: Jxa['ObjC'];
declare const $: Jxa['$'];

const UTF8 = 4;
ObjC.import('Foundation');

/** Input and output are JSON on stdin and stdout, so that no text is in an argument of the process. */
export function readInput(): unknown {
  const data = $.NSFileHandle.fileHandleWithStandardInput.readDataToEndOfFile;
  return JSON.parse(String(ObjC.unwrap($.NSString.alloc.initWithDataEncoding(data, UTF8))));
}

export function write(line: object): void {
  const text = $.NSString.stringWithString(`${JSON.stringify(line)}\n`);
  $.NSFileHandle.fileHandleWithStandardOutput.writeData(text.dataUsingEncoding(UTF8));
}
