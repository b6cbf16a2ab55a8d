/** The folder for data that rgx keeps between runs and can lose without harm. */

/** $RGX_CACHE, $XDG_CACHE_HOME/rgx or ~/.cache/rgx; null where there is no home folder. */
export function userCache(env: (name: string) => string | undefined = Deno.env.get): string | null {
  const own = env("RGX_CACHE");
  if (own) return own.replace(/(?<=.)\/+$/, "");
  const home = env("HOME") || env("USERPROFILE");
  const caches = env("XDG_CACHE_HOME") || (home ? `${home}/.cache` : null);
  return caches === null ? null : `${caches}/rgx`;
}
