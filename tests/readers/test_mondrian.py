"""Mondrian schemas: what is read in them, and what is refused where."""

import pytest

from apps.vision import mondrian
from apps.vision.errors import SchemaRefused
from axiom.references import dotted

SALES = """<?xml version="1.0" encoding="UTF-8"?>
<Schema name="FoodMart">
  <Dimension name="Store">
    <Hierarchy hasAll="true" primaryKey="store_id">
      <Table name="store" schema="shops"/>
      <Level name="Country" column="store_country" uniqueMembers="true"/>
      <Level name="Name" column="store_name"><Property name="Type" column="store_type"/></Level>
    </Hierarchy>
  </Dimension>
  <Cube name="Sales" caption="Umsatz">
    <Annotations><Annotation name="a">b</Annotation></Annotations>
    <Table name="sales_fact"/>
    <DimensionUsage name="Store" source="Store" foreignKey="store_id"/>
    <Dimension name="Product" foreignKey="product_id">
      <Hierarchy hasAll="true" primaryKey="product_id" primaryKeyTable="product">
        <Join leftKey="product_class_id" rightKey="product_class_id">
          <Table name="product"/><Table name="product_class"/>
        </Join>
        <Level name="Family" table="product_class" column="product_family"/>
        <Level name="Product" table="product" column="product_id" nameColumn="product_name"/>
      </Hierarchy>
    </Dimension>
    <Dimension name="Promotion"><Hierarchy><Level name="Code" column="promo"/></Hierarchy></Dimension>
    <Measure name="Sales" column="store_sales" aggregator="sum"/>
    <Measure name="Rows" aggregator="count"/>
    <CalculatedMember name="Profit" dimension="Measures"><Formula>1</Formula></CalculatedMember>
  </Cube>
</Schema>"""


def test_a_cube_uses_exactly_the_columns_it_names():
    (cube,) = mondrian.read(SALES, default_schema="public")
    assert (cube.name, cube.caption) == ("Sales", "Umsatz")
    assert {dotted(use) for use in cube.definition.uses()} == {
        "public.sales_fact", "public.sales_fact.store_sales", "public.sales_fact.store_id",
        "public.sales_fact.product_id", "public.sales_fact.promo",
        "shops.store.store_id", "shops.store.store_country", "shops.store.store_name",
        "shops.store.store_type",
        "public.product.product_id", "public.product.product_class_id",
        "public.product.product_name", "public.product_class.product_class_id",
        "public.product_class.product_family",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("was", "becomes", "path", "reason"),
    [
        ('source="Store"', 'source="Shop"', "/Cube[Sales]/DimensionUsage[Store]", "Shop"),
        ('<Table name="sales_fact"/>', "", "/Cube[Sales]", "Table"),
        ('<Table name="sales_fact"/>', "<View/>", "/Cube[Sales]/View", "not supported"),
        ('column="store_sales" ', "", "/Measure[Sales]", "column"),
        ('aggregator="sum"', 'aggregator="median"', "/Measure[Sales]", "sum"),
        ('table="product_class"', 'table="brand"', "/Level[Family]", "brand"),
        ('rightKey="product_class_id"', "", "/Hierarchy/Join", "rightKey"),
        ('<Level name="Code" column="promo"/>', "", "/Dimension[Promotion]", "at least 1"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_path_and_the_reason(was, becomes, path, reason):
    assert was in SALES
    with pytest.raises(SchemaRefused) as refusal:
        mondrian.read(SALES.replace(was, becomes, 1), default_schema="public")
    assert path in refusal.value.facts["path"]
    assert reason in refusal.value.facts["reason"]


@pytest.mark.parametrize(
    "xml",
    [
        "",
        "<Schema>",
        "<Schema/>",
        "<Cube/>",
        '<!DOCTYPE a [<!ENTITY b "c">]><Schema name="&b;"/>',
        "<Schema>" + "<Dimension>" * 5 + "</Dimension>" * 5 + "</Schema>",
        "<Schema/>" + " " * mondrian.LARGEST,
    ],
)
def test_what_is_no_schema_is_refused(xml):
    with pytest.raises(SchemaRefused):
        mondrian.read(xml, default_schema="public")
