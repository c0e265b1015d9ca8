"""How does a device, or a database, draw a report itself?

In: a design or a kernel with a matrix.
Out: one file that draws with exactly its chances where the secret is: a JavaScript module with a
memory, or SQL for a table. It holds the public form of a design: kernel, labels and guarantee.
"""
