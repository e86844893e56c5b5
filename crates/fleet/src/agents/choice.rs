//! Which of the agents that are served a host can be given. Pure.

/// What is served, newest version first: versions with their platforms.
pub type Served = [(String, String)];

/// The platform of the binary that a host gets: the one that the host said, or
/// the only one of that version when it said none.
pub fn target<'a>(served: &'a Served, version: &str, said: Option<&str>) -> Option<&'a str> {
    let mut fitting = served.iter().filter(|(it, target)| it == version && said.is_none_or(|said| said == target));
    match (fitting.next(), fitting.next()) {
        (Some((_, target)), None) => Some(target),
        _ => None,
    }
}

/// The newest version that all of these hosts can be given.
pub fn newest<'a>(served: &'a Served, hosts: &[Option<String>]) -> Option<&'a str> {
    let fits_all = |version: &str| hosts.iter().all(|said| target(served, version, said.as_deref()).is_some());
    served.iter().map(|(version, _)| version.as_str()).find(|version| fits_all(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served() -> Vec<(String, String)> {
        [("0.3.0", "arm"), ("0.2.0", "arm"), ("0.2.0", "x86")].map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec()
    }

    #[test]
    fn a_host_gets_its_own_platform_or_the_only_one_there_is() {
        assert_eq!(target(&served(), "0.2.0", Some("x86")), Some("x86"));
        assert_eq!(target(&served(), "0.3.0", Some("x86")), None);
        assert_eq!(target(&served(), "0.3.0", None), Some("arm"));
        assert_eq!(target(&served(), "0.2.0", None), None, "it could be either");
    }

    #[test]
    fn the_newest_is_the_newest_that_fits_every_host() {
        let host = |text: &str| Some(text.to_owned());
        assert_eq!(newest(&served(), &[host("arm")]), Some("0.3.0"));
        assert_eq!(newest(&served(), &[host("arm"), host("x86")]), Some("0.2.0"));
        assert_eq!(newest(&served(), &[host("riscv")]), None);
        assert_eq!(newest(&[], &[]), None);
    }
}
