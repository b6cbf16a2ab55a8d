/**
 * Whether a folder is on a network file system, according to the mount table. A system without
 * that table (not Linux) counts as having no network folders.
 */

const NETWORK = /^(nfs\d?|cifs|smb\d?|smbfs|afs|9p)$/;
const CLUSTER = /^(lustre|gpfs|beegfs|ceph|glusterfs|pvfs2|orangefs|panfs|wekafs)$/;
const NETWORK_FUSE = /^fuse\.(.*(nfs|sshfs|gluster|ceph|beegfs|s3|gcs|juicefs|hf).*)$/;

export function isOnNetwork(path: string, mounts = readMounts()): boolean {
  const real = Deno.realPathSync(path);
  let found = { point: "", type: "" };
  for (const line of mounts.split("\n")) {
    const [, escaped = "", type = ""] = line.split(" ");
    // The table escapes spaces and some other characters in octal: a space is \040.
    const point = escaped.replaceAll(/\\(\d{3})/g, (_, o) => String.fromCharCode(parseInt(o, 8)));
    const inside = real === point || real.startsWith(point.endsWith("/") ? point : `${point}/`);
    if (point !== "" && inside && point.length >= found.point.length) found = { point, type };
  }
  return [NETWORK, CLUSTER, NETWORK_FUSE].some((types) => types.test(found.type));
}

function readMounts(): string {
  try {
    return Deno.readTextFileSync("/proc/self/mounts");
  } catch {
    return "";
  }
}
