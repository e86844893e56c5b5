//! What the doctor asks about how well this host keeps logins apart.

use super::configure::{SSHD_FILE, are_processes_hidden};
use super::groups::Groups;
use super::{sshd, users};
use crate::config::Config;
use crate::doctor::{Finding, Verdict};
use std::path::Path;

pub(crate) async fn examine(config: &Config) -> Vec<Finding> {
    vec![limits(), hidden(), sshd_keys(config).await]
}

fn limits() -> Finding {
    let groups = Groups::find();
    if !groups.is_there() {
        let advice = "use a host with systemd, or mount /sys/fs/cgroup: one login can exhaust the host";
        return Finding::new("limits", Verdict::Broken, groups.describe(), advice);
    }
    // Without it sshd's sessions are in no slice of their own.
    if matches!(groups, Groups::Systemd) && !has_pam_systemd() {
        let advice = "install libpam-systemd: without it, logins through sshd have no limits";
        return Finding::new("limits", Verdict::Broken, "sshd does not open systemd sessions", advice);
    }
    match groups {
        Groups::Systemd => Finding::good("limits", groups.describe()),
        _ => {
            let advice = "logins through this host's own sshd have no limits without systemd";
            Finding::new("limits", Verdict::Warning, groups.describe(), advice)
        }
    }
}

fn has_pam_systemd() -> bool {
    let files = ["/etc/pam.d/common-session", "/etc/pam.d/password-auth", "/etc/pam.d/sshd"];
    let asks = |path: &&str| std::fs::read_to_string(path).is_ok_and(|text| text.contains("pam_systemd.so"));
    files.iter().any(asks)
}

fn hidden() -> Finding {
    if are_processes_hidden() {
        return Finding::good("processes", "users see only their own processes");
    }
    let advice = "mount /proc with hidepid=2, as the agent's unit does when it starts";
    Finding::new("processes", Verdict::Warning, "users see each other's processes", advice)
}

/// As sshd itself understands its files, where there is a login to ask about.
async fn sshd_keys(config: &Config) -> Finding {
    if sshd::program().is_none() {
        return Finding::good("sshd keys", "sshd is not installed");
    }
    let advice = "start the agent with --configure-host, as its unit does, and check that /etc/ssh/sshd_config \
                  begins with Include /etc/ssh/sshd_config.d/*.conf: until then, no login is created";
    let Some(login) = users::made_below(&config.home_root).into_iter().next() else {
        let is_written = std::fs::read_to_string(SSHD_FILE).is_ok_and(|found| found == sshd::settings(config));
        let is_included = std::fs::read_to_string(sshd::MAIN_FILE).is_ok_and(|text| includes(&text));
        return if is_written && is_included {
            Finding::good("sshd keys", format!("only keys in {}", config.keys_root.display()))
        } else {
            Finding::new("sshd keys", Verdict::Broken, "tenants' own authorized_keys are honored", advice)
        };
    };
    match sshd::check(config, Path::new(sshd::MAIN_FILE), &login).await {
        Ok(()) => Finding::good("sshd keys", format!("only keys in {}", config.keys_root.display())),
        Err(why) => Finding::new("sshd keys", Verdict::Broken, why, advice),
    }
}

fn includes(text: &str) -> bool {
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let is_include = |line: &str| {
        let words = words(line);
        words.first().is_some_and(|word| word.eq_ignore_ascii_case("include"))
            && words.iter().any(|word| Path::new(word).starts_with("/etc/ssh/sshd_config.d"))
    };
    text.lines().any(is_include)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn includes_are_found_and_comments_are_not() {
        assert!(includes("Port 22\nInclude /etc/ssh/sshd_config.d/*.conf\n"));
        assert!(!includes("#Include /etc/ssh/sshd_config.d/*.conf\nPort 22\n"));
    }
}
