//! Lines of a `known_hosts` file. Pure.

/// The port that `ssh` takes when none is said, and leaves out in such files.
const USUAL_PORT: &str = "22";

/// That the key certifies the gateways at this address.
pub fn line(address: &str, key: &str) -> String {
    format!("@cert-authority {} {key}", name(address))
}

fn name(address: &str) -> String {
    let Some((host, port)) = address.rsplit_once(':') else { return address.to_owned() };
    let host = host.trim_matches(['[', ']']);
    if port == USUAL_PORT { host.to_owned() } else { format!("[{host}]:{port}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_written_as_openssh_writes_them() {
        assert_eq!(line("gw.example.com:22", "k"), "@cert-authority gw.example.com k");
        assert_eq!(line("127.0.0.1:2222", "k"), "@cert-authority [127.0.0.1]:2222 k");
        assert_eq!(line("[::1]:2222", "k"), "@cert-authority [::1]:2222 k");
    }
}
