"""The page's frame: what the browser tab shows and which views there are."""

from pathlib import Path

import streamlit as st

from app import login

LOGO = str(Path(__file__).with_name("logo.svg"))

st.set_page_config(page_title="Pivotline", page_icon=LOGO, layout="wide")
st.logo(LOGO, size="small")
login.require()
page = st.navigation(
    [
        st.Page("views/train.py", title="Train", url_path="train", default=True),
        st.Page("views/size.py", title="Size", url_path="size"),
    ],
    position="top",
)
page.run()
