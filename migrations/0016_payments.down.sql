DROP TABLE payment_drift, payment_events, disputes, refunds, payments;
