/** The normalizer of BERT's tokenizers: cleans, spaces out Chinese characters, strips accents. */
import { fieldsOf } from "./component.ts";
import { lowercase } from "./lowercase.ts";

const REMOVED = /[\0\ufffd\p{Cc}\p{Cf}\p{Co}]/gu;
const SPACE = /\p{White_Space}/gu;
/** As listed in Hugging Face's tokenizers, which begin the extension E at U+2B920. */
const CHINESE = new RegExp(
  String.raw`[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}` +
    String.raw`\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]`,
  "gu",
);

/** @param json the component, with its options */
export function bertNormalizer(json: unknown): (text: string) => string {
  const options = fieldsOf(json);
  const isLowercase = options["lowercase"] === true;
  const stripsAccents = options["strip_accents"] ?? isLowercase;
  return (text) => {
    let out = text;
    if (options["clean_text"] === true) {
      out = out.replaceAll(REMOVED, (one) => "\t\n\r".includes(one) ? one : "");
      out = out.replaceAll(SPACE, " ");
    }
    if (options["handle_chinese_chars"] === true) out = out.replaceAll(CHINESE, " $& ");
    if (stripsAccents === true) out = out.normalize("NFD").replaceAll(/\p{Mn}/gu, "");
    return isLowercase ? lowercase(out) : out;
  };
}
