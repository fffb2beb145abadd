/** Returns a value of the settings that `pmset -g` prints. */
export function powerSetting(settings: string, name: string): number | undefined {
  const value = new RegExp(`^ *${name} +(\\d+)`, 'm').exec(settings)?.[1];
  return value === undefined ? undefined : Number(value);
}
