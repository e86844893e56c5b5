DROP TABLE machines, providers;
