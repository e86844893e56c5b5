//! Who a transaction acts for is decided by the gates. Only the procedures that
//! cross scopes by nature go on in another one, and only the kernel turns a
//! scope into a database role.

use super::source::Source;
use super::{File, Problem, sql};

/// Signing in and up (nobody yet), creating an organization (its owner goes on
/// inside it), accepting (the token names the
/// organization), leaving (the path does, for a member), mailed tokens (nobody
/// yet), proving an address and erasing (a person's things lie in many scopes),
/// capacity (sums over what all tenants hold), telemetry (what hosts measured of a tenant's GPUs),
/// SSH certificates (the platform's own keys), explaining (the process's picture of the fleet).
const CROSSING: &[&str] = &[
    "crates/people/src/account_tokens/routes.rs",
    "crates/compute/src/allocations/explain.rs",
    "crates/fleet/src/capacity/routes.rs",
    "crates/platform/src/identity/",
    "crates/people/src/invitations/routes.rs",
    "crates/people/src/members/leave.rs",
    "crates/money/src/metering/",
    "crates/people/src/organizations/routes.rs",
    "crates/fleet/src/samples/routes.rs",
    "crates/people/src/sessions/",
    "crates/access/src/ssh_certificates/routes.rs",
    "crates/people/src/erasure/routes.rs",
    "crates/people/src/accounts/proof.rs",
    "crates/people/src/accounts/routes.rs",
];
const TX: &[&str] = &["crates/kernel/src/tx.rs", "crates/kernel/src/pool.rs"];
const ENTER_ADVICE: &str = "this is not a procedure that crosses scopes; take the Tx that the gates opened";
const ROLE_ADVICE: &str = "only kernel's tx.rs and pool.rs change the database role; begin a Tx with a scope";

pub fn check(files: &[File]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let code = |file: &&File| file.is_rust() && file.is_in_a_crate() && !file.is_test();
    for file in files.iter().filter(code) {
        let source = Source::of(file);
        if !CROSSING.iter().any(|it| file.path.starts_with(it)) {
            let calls = source.find(".enter(").into_iter().filter(|at| {
                let argument: String = source.code_from(*at).split_whitespace().collect();
                enters_scope(&argument) && !source.in_tests(*at)
            });
            problems.extend(calls.map(|at| Problem::new(file, source.line_of(at), ENTER_ADVICE)));
        }
        if !TX.contains(&file.path.as_str()) {
            let literals = source.literals.iter().filter(|l| !source.in_tests(l.offset));
            let changes = literals.filter(|literal| changes_role(&literal.text));
            problems.extend(changes.map(|l| Problem::new(file, l.line, ROLE_ADVICE)));
        }
    }
    for file in files.iter().filter(|f| f.is_sql() && f.is_in_a_crate() && !f.is_test()) {
        if changes_role(&file.text) {
            problems.push(Problem::new(file, 1, ROLE_ADVICE));
        }
    }
    problems
}

fn enters_scope(call: &str) -> bool {
    let argument = call.trim_start_matches(".enter(").trim_start_matches('&');
    let path = argument.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').next();
    path.unwrap_or_default()
        .rsplit_once("Scope::")
        .is_some_and(|(before, _)| before.is_empty() || before.ends_with("::"))
}

fn changes_role(text: &str) -> bool {
    let tokens = sql::tokens(text);
    let says = |words: &[&str]| sql::contains(&tokens, words);
    let set = [&["set", "local", "role"][..], &["set", "session", "role"]];
    // `SET role = …` in an UPDATE is a column of that name.
    let plain = tokens.windows(3).any(|it| it[0].text == "set" && it[1].text == "role" && it[2].text != "=");
    plain
        || set.iter().any(|words| says(words))
        || says(&["set", "session", "authorization"])
        || says(&["reset", "role"])
        || says(&["set_config", "(", "'role'"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let problems = check(&[File::new(path, text)]);
        problems.into_iter().map(|problem| problem.line).collect()
    }

    const ROUTES: &str = "crates/people/src/projects/routes.rs";

    #[test]
    fn a_widened_scope_is_found() {
        assert_eq!(lines(ROUTES, "tx.enter(Scope::System).await?;"), [1]);
        assert_eq!(lines(ROUTES, "tx\n  .enter(\n  kernel::Scope::System)"), [2]);
    }

    #[test]
    fn a_changed_role_is_found() {
        assert_eq!(lines(ROUTES, "q(\"SET LOCAL ROLE app_system\");"), [1]);
        assert_eq!(lines(ROUTES, "q(\"set  role x\");"), [1]);
        assert_eq!(lines(ROUTES, "q(\"SELECT set_config('role', $1, true)\");"), [1]);
    }

    #[test]
    fn identity_tx_tests_and_other_calls_pass() {
        assert!(lines("crates/platform/src/identity/login.rs", "tx.enter(Scope::System)").is_empty());
        assert!(lines(TX[0], "q(\"SET LOCAL ROLE app_system\");").is_empty());
        assert!(lines(ROUTES, "span.enter(); f(\"set the role of a member\");").is_empty());
        assert!(lines("crates/kernel/tests/tx.rs", "tx.enter(Scope::System)").is_empty());
    }
}
