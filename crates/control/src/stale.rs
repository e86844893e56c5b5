//! What this process remembers, and which events make it stale. Whoever caused one
//! forgets before they answer; every other replica forgets when it hears of it.

use crate::app::App;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stale {
    policies: bool,
    callers: bool,
    standings: bool,
}

impl Stale {
    /// What these events make stale.
    pub fn after<'a>(subjects: impl Iterator<Item = &'a str>) -> Self {
        let mut stale = Self::default();
        for subject in subjects {
            match subject.split('.').next().unwrap_or_default() {
                "policy" => (stale.policies, stale.callers) = (true, true),
                "node" | "gateway" => stale.standings = true,
                "session" | "key" | "member" | "organization" | "service_account" | "user" | "mfa_factor" => {
                    stale.callers = true;
                }
                _ => (),
            }
        }
        stale
    }

    /// Forgets it; what is read ahead is read again soon.
    pub fn forget(self, app: &App) {
        if self.policies {
            app.policies.forget();
        }
        if self.callers {
            app.recognizer.forget();
        }
        if self.standings {
            app.standings.look_again();
        }
    }

    /// As [`Stale::forget`], with the policies read again before this returns.
    pub async fn forget_now(self, app: &App) {
        if self.policies
            && let Err(error) = app.policies.refresh(&app.db).await
        {
            tracing::warn!(%error, "reading policies failed; the last known values apply for a moment longer");
        }
        self.forget(app);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_make_stale_what_depends_on_them() {
        let after = |subject: &str| Stale::after([subject].into_iter());
        assert_eq!(after("policy.set"), Stale { policies: true, callers: true, standings: false });
        assert_eq!(after("member.removed"), Stale { callers: true, ..Stale::default() });
        assert_eq!(after("node.ready"), Stale { standings: true, ..Stale::default() });
        assert_eq!(after("allocation.active"), Stale::default());
    }
}
