//! What the agent may use of its host: it is a guest there. systemd's unit sets
//! more; these hold wherever it is started.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

const FILES: u64 = 8192; // bound: a few files for each stream of each gateway
const PREFERRED: &str = "-500"; // bound: losing the agent frees little and loses the host

/// Lowers what can be lowered; a limit that cannot be set is left as it is.
pub fn apply() {
    if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, FILES.min(hard), hard);
    }
    // A dump of this process would hold its private key.
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    let _ = std::fs::write("/proc/self/oom_score_adj", PREFERRED);
}

/// As many open files as the host allows: a fleet has a connection per node.
pub fn raise_files() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}
