/**
 * The values of JSON Schema's `format` that are supported, as patterns that have to match the whole
 * text. Some allow less than the format does, such as shorter names of hosts.
 */

const DAY = "(0[1-9]|1\\d|2[0-8])";
const LEAP_YEAR = "(\\d\\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)";
const DATE = `(\\d{4}-((0[1-9]|1[0-2])-${DAY}|(0[13-9]|1[0-2])-(29|30)|(0[13578]|1[02])-31)|` +
  `${LEAP_YEAR}-02-29)`;
const TIME = "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,6})?(Z|[+-]([01]\\d|2[0-3]):[0-5]\\d)";
const COUNT = "\\d{1,4}";
const DURATION_TIME = `T(${COUNT}H(${COUNT}M(${COUNT}S)?)?|${COUNT}M(${COUNT}S)?|${COUNT}S)`;
const DURATION_DATE = `(${COUNT}Y(${COUNT}M(${COUNT}D)?)?|${COUNT}M(${COUNT}D)?|${COUNT}D)`;
const DURATION = `P(${COUNT}W|${DURATION_DATE}(${DURATION_TIME})?|${DURATION_TIME})`;
const BYTE = "(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)", IPV4 = `${BYTE}(\\.${BYTE}){3}`;
const H16 = "[0-9a-fA-F]{1,4}";
const IPV6 = [
  `(${H16}:){7}${H16}`,
  ...Array.from({ length: 7 }, (_, before) => {
    const left = before === 0 ? "" : `${H16}(:${H16}){${before - 1}}`, after = 6 - before;
    const right = after === 0 ? "" : `(${H16}(:${H16}){0,${after - 1}})?`;
    return `${left}::${right}`;
  }),
].join("|");
const LABEL = "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const HOST = `${LABEL}(\\.${LABEL}){0,2}`;
const ATOM = "[A-Za-z0-9_+-]{1,20}";
const EMAIL = `${ATOM}(\\.${ATOM}){0,2}@(${LABEL}\\.){1,2}[A-Za-z]{2,24}`;
const UUID = "[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}";
const URI = `https?://${HOST}(:\\d{1,4})?(/[A-Za-z0-9._~-]*)*(\\?[A-Za-z0-9._~&=-]*)?`;

export const STRING_FORMATS: Readonly<Record<string, string>> = {
  date: DATE,
  time: TIME,
  "date-time": `${DATE}T${TIME}`,
  duration: DURATION,
  email: EMAIL,
  hostname: HOST,
  ipv4: IPV4,
  ipv6: `(${IPV6})`,
  uri: URI,
  uuid: UUID,
};
