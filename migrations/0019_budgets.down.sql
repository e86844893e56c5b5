DROP TRIGGER wake_budgets ON usage;
DROP FUNCTION wake_budgets;
DROP FUNCTION project_runs;
DROP INDEX usage_by_project;
DROP TABLE budget_notices, budgets;
