/** A size for people, in units of 1000 and with three digits: "512 B", "1.41 MB", "15.2 GB". */
export function bytesText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0, value = bytes;
  while (value >= 999.5 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  const digits = unit === 0 || value >= 999.5 ? String(Math.round(value)) : value.toPrecision(3);
  return `${digits} ${units[unit]}`;
}
