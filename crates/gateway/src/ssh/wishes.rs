//! What a client names and asks for, as far as it can be judged by itself: logins,
//! algorithms of keys, hosts, sizes of windows and signals.

use protocol::stream::Size;
use russh::Sig;
use russh::keys::Algorithm;

const MOST_LOGIN: usize = 200; // bound: an id or two names, and a rank

/// As the protocol and shells name it.
pub fn name_of(signal: &Sig) -> &str {
    match signal {
        Sig::ABRT => "ABRT",
        Sig::ALRM => "ALRM",
        Sig::FPE => "FPE",
        Sig::HUP => "HUP",
        Sig::ILL => "ILL",
        Sig::INT => "INT",
        Sig::KILL => "KILL",
        Sig::PIPE => "PIPE",
        Sig::QUIT => "QUIT",
        Sig::SEGV => "SEGV",
        Sig::TERM => "TERM",
        Sig::USR1 => "USR1",
        Sig::Custom(name) => name,
    }
}

pub fn size(columns: u32, rows: u32) -> Size {
    let bounded = |it: u32| u16::try_from(it).unwrap_or(u16::MAX);
    match (columns, rows) {
        (0, _) | (_, 0) => Size::DEFAULT,
        _ => Size { columns: bounded(columns), rows: bounded(rows) }.clamped(),
    }
}

pub fn is_login(name: &str) -> bool {
    !name.is_empty() && name.len() <= MOST_LOGIN && name.bytes().all(|it| it.is_ascii_graphic() || it == b' ')
}

/// Names of the machine that the allocation is on, as it calls itself.
pub fn is_own(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1")
}

pub fn is_modern(algorithm: &Algorithm) -> bool {
    matches!(
        algorithm,
        Algorithm::Ed25519 | Algorithm::SkEd25519 | Algorithm::Ecdsa { .. } | Algorithm::SkEcdsaSha2NistP256
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_without_a_size_has_a_usual_one() {
        assert_eq!(size(0, 0), Size::DEFAULT);
        assert_eq!(size(u32::MAX, 50).columns, Size::MOST_COLUMNS);
        assert_eq!(size(120, 50), Size { columns: 120, rows: 50 });
    }

    #[test]
    fn only_the_allocation_itself_is_reached() {
        assert!(is_own("localhost") && is_own("127.0.0.1"));
        assert!(!is_own("10.0.0.1") && !is_own("metadata.internal") && !is_own("0.0.0.0"));
    }

    #[test]
    fn a_login_is_short_and_plain() {
        assert!(is_login("alloc_1") && is_login("notebook.research"));
        assert!(!is_login("") && !is_login("a\n") && !is_login(&"a".repeat(MOST_LOGIN + 1)));
    }
}
