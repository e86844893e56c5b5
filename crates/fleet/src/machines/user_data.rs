//! What a machine does when it first starts: install the agent and enroll it
//! with the token that was made for this one install.

use contract::providers::AgentSource;
use kernel::secrets::Secret;

pub struct FirstStart<'a> {
    pub node_url: &'a str,
    pub ca_fingerprint: &'a str,
    pub token: &'a Secret,
    pub agent: Option<&'a AgentSource>,
}

/// A script that cloud-init runs once. Values are checked where they enter and
/// quoted here; the token works once and is useless on the next start.
pub fn script(start: &FirstStart<'_>) -> Secret {
    let install = match start.agent {
        Some(agent) => format!(
            "curl --fail --silent --show-error --location --retry 5 --max-time 600 --output \"$agent.new\" {}\n\
             echo {}\"  $agent.new\" | sha256sum --check --quiet\n\
             chmod 0755 \"$agent.new\"\n\
             mv \"$agent.new\" \"$agent\"\n",
            quote(agent.url.as_str()),
            quote(agent.sha256.as_str()),
        ),
        None => "test -x \"$agent\" || { echo 'the image has no agent: set the agent of the provider' >&2; exit 1; }\n"
            .to_owned(),
    };
    let token = start.token.expose_text().unwrap_or_default();
    let text = format!(
        "#!/bin/sh\n\
         # Makes this machine a node. The token below works once.\n\
         set -eu\n\
         agent=/usr/local/lib/gpuaas/gpuaas-node\n\
         mkdir -p \"${{agent%/*}}\"\n\
         {install}\
         export GPUAAS_NODE_URL={}\n\
         export GPUAAS_NODE_TOKEN={}\n\
         for pause in 5 15 30 60 120 0; do\n\
         \x20 if \"$agent\" enroll --again --ca-fingerprint {}; then break; fi\n\
         \x20 test \"$pause\" != 0 || exit 1\n\
         \x20 sleep \"$pause\"\n\
         done\n\
         unset GPUAAS_NODE_TOKEN\n\
         test -e /etc/systemd/system/gpuaas-node.service || cat > /etc/systemd/system/gpuaas-node.service <<'UNIT'\n\
         {UNIT}\
         UNIT\n\
         systemctl daemon-reload\n\
         systemctl enable --now gpuaas-node\n",
        quote(start.node_url),
        quote(token),
        quote(start.ca_fingerprint),
    );
    text.into()
}

/// The one unit of every kind of host.
const UNIT: &str = include_str!("../../../../deploy/gpuaas-node.service");

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(agent: Option<&AgentSource>, node_url: &str) -> String {
        let token = Secret::from("gpn_secret".to_owned());
        let start = FirstStart { node_url, ca_fingerprint: "ab12", token: &token, agent };
        script(&start).expose_text().unwrap().to_owned()
    }

    #[test]
    fn a_shell_can_read_it_and_no_value_leaves_its_quotes() {
        let agent = AgentSource {
            url: "https://files.example.com/gpuaas-node".parse().unwrap(),
            sha256: "a".repeat(64).parse().unwrap(),
        };
        for text in [written(Some(&agent), "https://a:8443"), written(None, "https://a'; rm -rf /; '")] {
            let mut child = std::process::Command::new("sh")
                .arg("-n")
                .stdin(std::process::Stdio::piped())
                .spawn()
                .expect("there is a shell");
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
            assert!(child.wait().unwrap().success(), "{text}");
        }
        let unit = written(None, "https://a");
        assert!(unit.contains("CapabilityBoundingSet=") && unit.contains("--configure-host"), "{unit}");
        assert!(written(None, "https://a'b").contains(r"GPUAAS_NODE_URL='https://a'\''b'"));
        assert!(written(Some(&agent), "https://a").contains("export GPUAAS_NODE_TOKEN='gpn_secret'"));
    }
}
