INSERT INTO products (name) VALUES ('x')

WITH t AS (SELECT 'x' AS n) INSERT INTO products (name) SELECT n FROM t

WITH t AS (SELECT 1) DELETE FROM products

/* SELECT */ DELETE FROM products

-- SELECT
UPDATE products SET price = 0

REPLACE INTO products (id) VALUES (1)

DROP TABLE products

ALTER TABLE products ADD COLUMN extra

CREATE TABLE t (a)

CREATE TEMP TABLE t AS SELECT 1

CREATE VIRTUAL TABLE t USING fts5(a)

REINDEX products

ANALYZE

VACUUM INTO '{folder}/copy.db'

ATTACH DATABASE '{folder}/other.db' AS other

ATTACH ':memory:' AS other

DETACH main

BEGIN IMMEDIATE

SAVEPOINT s

EXPLAIN DELETE FROM products

PRAGMA writable_schema = ON

PRAGMA query_only = OFF

PRAGMA journal_mode = DELETE

PRAGMA hard_heap_limit = 0

PRAGMA trusted_schema = ON

PRAGMA user_version = 7

SELECT load_extension('evil')

SELECT LOAD_EXTENSION('evil', 'main')

SELECT fts3_tokenizer('simple', x'0000000000000000')
