/** Returns a value from the output of `pmset -g`. */
export function powerSetting(settings: string, name: string): number | undefined {
  const value = new RegExp(`^ *${name} +(\\d+)`, 'm').exec(settings)?.[1];
  return value === undefined ? undefined : Number(value);
}
