DROP TRIGGER move_hold ON allocations;
DROP FUNCTION move_hold;
DROP TABLE holds, wallets;
