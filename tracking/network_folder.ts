/** Whether a folder is on a network file system, by the mount table; where there is none (not Linux) it is not. */

const NETWORK =
  /^(nfs\d?|cifs|smb\d?|smbfs|afs|lustre|gpfs|beegfs|ceph|glusterfs|pvfs2|orangefs|9p|panfs|wekafs)$/;
const NETWORK_FUSE = /^fuse\.(.*(nfs|sshfs|gluster|ceph|beegfs|s3|gcs|juicefs|hf).*)$/;

export function isOnNetwork(path: string, mounts = readMounts()): boolean {
  const real = Deno.realPathSync(path);
  let found = { point: "", type: "" };
  for (const line of mounts.split("\n")) {
    const [, escaped = "", type = ""] = line.split(" ");
    // Spaces and the like stand in the table as \040.
    const point = escaped.replaceAll(/\\(\d{3})/g, (_, o) => String.fromCharCode(parseInt(o, 8)));
    const inside = real === point || real.startsWith(point.endsWith("/") ? point : `${point}/`);
    if (point !== "" && inside && point.length >= found.point.length) found = { point, type };
  }
  return NETWORK.test(found.type) || NETWORK_FUSE.test(found.type);
}

function readMounts(): string {
  try {
    return Deno.readTextFileSync("/proc/self/mounts");
  } catch {
    return "";
  }
}
