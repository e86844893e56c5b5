//! A loop that reads a PTY and forgets what it read: nothing can be faster.

use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;
use std::time::Instant;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Millions of bytes in a second.
pub fn measure(command: &str) -> Result<f64, String> {
    let cannot = |error: rustix::io::Errno| format!("cannot open a terminal: {error}");
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).map_err(cannot)?;
    grantpt(&master).map_err(cannot)?;
    unlockpt(&master).map_err(cannot)?;
    let name = ptsname(&master, Vec::new()).map_err(cannot)?;
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let open = || File::options().read(true).write(true).open(path).map_err(super::text);
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(open()?)
        .stdout(open()?)
        .stderr(open()?)
        .spawn()
        .map_err(super::text)?;
    let mut master = File::from(master);
    let mut buffer = vec![0; 64 * 1024];
    let (mut count, mut began) = (0_usize, None);
    // The last writer's end is an error on Linux.
    while let Ok(read @ 1..) = master.read(&mut buffer) {
        began.get_or_insert_with(Instant::now);
        count += read;
    }
    let seconds = began.map_or(f64::MAX, |it: Instant| it.elapsed().as_secs_f64());
    child.wait().map_err(super::text)?;
    Ok(count as f64 / 1e6 / seconds)
}
