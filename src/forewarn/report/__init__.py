"""The client report: what guests did with the endpoint, what to fix in them, and what is good to know.

`observer.py` fills the `notes.py` of each guest, `findings.py` judges them, `sentences.py` words the findings, and
`views.py` is the JSON of it all.
"""
