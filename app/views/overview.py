"""Overview: what serves now, what runs, and whether anything is wrong."""

import streamlit as st

st.title("Overview", anchor=False)
