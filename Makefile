# (draft: see below; rewritten by the house module)
